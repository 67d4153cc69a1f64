import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { createEngine, findModel, loadModel } from '../src/index.js';

// Whether a disguise changes what is said of a text: the same labelled texts as they are, in encodings, and with their letters or words disguised.
// npm run bench -- encoded --data FILE.jsonl [--per 3] [--record NAME]

interface Row {
  readonly text: string;
  readonly label: 'injection' | 'benign';
  readonly source: string;
}

const { values } = parseArgs({
  options: { data: { type: 'string' }, per: { type: 'string', default: '3' }, record: { type: 'string' } },
});
if (values.data === undefined) throw new Error('Name the labelled texts: --data FILE.jsonl');
const data = values.data;

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  'as it is': (text) => text,
  base64,
  hex: (text) => Buffer.from(text).toString('hex'),
  percent: (text) => encodeURIComponent(text.toWellFormed()),
  'base64 in a mail': (text) => `Please see the note below.\n\n${base64(text)}\n\nBest,\nAnna`,
  'base64 in JSON': (text) => JSON.stringify({ file: 'note.txt', encoding: 'base64', content: base64(text) }),
  'percent in a URL': (text) => `GET /search?q=${encodeURIComponent(text.toWellFormed())}&page=2 HTTP/1.1`,
};

const words = (text: string, put: (word: string) => string): string => text.replace(/\S+/g, put);
const letters = (first: number) => (text: string) =>
  text.replace(/[a-z]/gi, (letter) => String.fromCodePoint(first + letter.toLowerCase().charCodeAt(0) - 0x61));
const LEET: Readonly<Record<string, string>> = { a: '4', e: '3', i: '1', o: '0', s: '5', t: '7' };
const CYRILLIC: Readonly<Record<string, string>> = { a: 'а', c: 'с', e: 'е', i: 'і', o: 'о', p: 'р', x: 'х', y: 'у' };
const MORSE =
  '.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..'.split(
    ' ',
  );
const morse = (word: string): string =>
  [...word.toLowerCase()].flatMap((letter) => MORSE[letter.charCodeAt(0) - 0x61] ?? []).join(' ');
const DISGUISES: Readonly<Record<string, (text: string) => string>> = {
  'an emoji before each word': (text) => text.replaceAll(' ', ' 🔥'),
  'emoji for spaces': (text) => text.replaceAll(' ', '👏'),
  'letters apart': (text) => [...text.replaceAll(' ', '_')].join('-'),
  'Morse code': (text) => text.split(/\s+/).map(morse).join(' / '),
  'zero-width spaces': (text) => words(text, (word) => [...word].join('\u200b')),
  'full-width letters': letters(0xff41),
  'mathematical letters': letters(0x1d41a),
  'Cyrillic look-alikes': (text) => text.replace(/[aceiopxy]/g, (letter) => CYRILLIC[letter] ?? letter),
  leet: (text) => text.replace(/[aeiost]/gi, (letter) => LEET[letter.toLowerCase()] ?? letter),
  'each word bold': (text) => words(text, (word) => `**${word}**`),
  'each word in brackets': (text) => words(text, (word) => `(${word})`),
  'a list of strings': (text) => JSON.stringify(text.split(/\s+/)),
  'a sign between words': (text) => text.replaceAll(' ', ' # '),
  'a word a line': (text) => text.replaceAll(' ', '\n'),
  backwards: (text) => [...text].reverse().join(''),
};

const digest = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Texts of 20 to 900 characters, `per` of each source and label, sources that are encoded already left out. */
const chosen = (label: Row['label']): readonly string[] => {
  const taken = new Map<string, number>();
  return readFileSync(data, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row)
    .map((row) => ({ ...row, key: digest(row.text) }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .filter((row) => {
      const fits = row.text.length > 20 && row.text.length < 900 && !row.source.includes('obfuscated');
      if (row.label !== label || !fits) return false;
      taken.set(row.source, (taken.get(row.source) ?? 0) + 1);
      return (taken.get(row.source) as number) <= Number(values.per);
    })
    .map(({ text }) => text);
};

const engine = createEngine({ model: await loadModel(findModel() ?? ''), timeoutMs: 120_000 });
const lines = [
  `# Encoded and disguised texts, ${basename(data)}, ${values.per} a source and label`,
  '',
  `\`npm run bench -- encoded\`; rules ${engine.info.rules_version}, model ${engine.info.ml_version} at ${engine.info.ml_threshold}. Blocked of n; in brackets: by the rules.`,
  '',
  '| | honest | attacks |\n| - | -: | -: |',
];
for (const [name, encode] of Object.entries({ ...ENCODINGS, ...DISGUISES })) {
  const cells: string[] = [];
  for (const label of ['benign', 'injection'] as const) {
    const texts = chosen(label);
    let [blocked, byRules] = [0, 0];
    for (const text of texts) {
      const { verdict, decided_by } = await engine.analyze(encode(text));
      if (decided_by === 'ml-error-rules-fallback') throw new Error('the model gave no answer');
      if (verdict === 'block') blocked += 1;
      if (verdict === 'block' && decided_by === 'rules') byRules += 1;
    }
    cells.push(`${blocked} of ${texts.length} (${byRules})`);
  }
  lines.push(`| ${name} | ${cells.join(' | ')} |`);
  console.log(lines.at(-1));
}
await engine.close();
if (values.record !== undefined) writeFileSync(`bench/record/${values.record}.md`, `${lines.join('\n')}\n`);
