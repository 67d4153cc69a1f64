import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { createEngine } from '../../src/adapters/create-engine.js';
import { loadPack } from '../../src/adapters/packs/load-pack.js';

/** Sentences of people who write about attacks, around a quotation. The last two of a language were not used to write the lists. */
const MENTIONS: Readonly<Record<string, readonly ((attack: string) => string)[]>> = {
  de: [
    (attack) => `Der Filter erkennt „${attack}“ und ähnliche Eingaben.`,
    (attack) => `„${attack}“ ist ein bekannter Angriff.`,
    (attack) => `Wie verhindere ich, dass jemand »${attack}« in unseren Chat tippt?`,
    (attack) => `Im Bericht steht, dass der Angreifer „${attack}“ in weißer Schrift versteckt hatte.`,
  ],
  fr: [
    (attack) => `Le filtre bloque « ${attack} » et les messages semblables.`,
    (attack) => `« ${attack} » est une attaque connue.`,
    (attack) => `Comment empêcher quelqu'un d'écrire “${attack}” dans notre chat ?`,
    (attack) => `D'après le rapport, le pirate avait caché « ${attack} » en blanc sur fond blanc.`,
  ],
  es: [
    (attack) => `El filtro detecta «${attack}» y mensajes parecidos.`,
    (attack) => `«${attack}» es un ataque conocido.`,
    (attack) => `¿Cómo evito que alguien escriba “${attack}” en nuestro chat?`,
    (attack) => `Según el informe, el atacante había escondido «${attack}» en letras blancas.`,
  ],
  pt: [
    (attack) => `O filtro deteta «${attack}» e mensagens parecidas.`,
    (attack) => `“${attack}” é um ataque conhecido.`,
    (attack) => `Como evito que alguém escreva “${attack}” no nosso chat?`,
    (attack) => `Segundo o relatório, o atacante tinha escondido “${attack}” em letras brancas.`,
  ],
  it: [
    (attack) => `Il filtro rileva «${attack}» e messaggi simili.`,
    (attack) => `«${attack}» è un attacco noto.`,
    (attack) => `Come evito che qualcuno scriva “${attack}” nella nostra chat?`,
    (attack) => `Secondo il rapporto, l'aggressore aveva nascosto «${attack}» in caratteri bianchi.`,
  ],
  nl: [
    (attack) => `Het filter herkent "${attack}" en soortgelijke berichten.`,
    (attack) => `"${attack}" is een bekende aanval.`,
    (attack) => `Hoe voorkom ik dat iemand “${attack}” in onze chat typt?`,
    (attack) => `Volgens het rapport had de aanvaller "${attack}" in witte letters verstopt.`,
  ],
  pl: [
    (attack) => `Filtr wykrywa „${attack}” i podobne wiadomości.`,
    (attack) => `„${attack}” to znany atak.`,
    (attack) => `Jak zapobiec temu, że ktoś wpisze „${attack}” na naszym czacie?`,
    (attack) => `Według raportu napastnik ukrył „${attack}” białą czcionką.`,
  ],
  ru: [
    (attack) => `Фильтр распознаёт «${attack}» и похожие сообщения.`,
    (attack) => `«${attack}» — известная атака.`,
    (attack) => `Как не дать кому-то написать «${attack}» в нашем чате?`,
    (attack) => `По отчёту, злоумышленник спрятал «${attack}» белым шрифтом.`,
  ],
  uk: [
    (attack) => `Фільтр розпізнає «${attack}» і схожі повідомлення.`,
    (attack) => `«${attack}» — відома атака.`,
    (attack) => `Як не дати, щоб хтось написав «${attack}» у нашому чаті?`,
    (attack) => `За звітом, зловмисник сховав «${attack}» білим шрифтом.`,
  ],
  tr: [
    (attack) => `Filtre "${attack}" ve benzeri mesajları algılıyor.`,
    (attack) => `“${attack}” bilinen bir saldırıdır.`,
    (attack) => `Birinin sohbete "${attack}" yazmasını nasıl önlerim?`,
    (attack) => `Rapora göre saldırgan beyaz yazıyla "${attack}" gizlemişti.`,
  ],
  ar: [
    (attack) => `يكشف المرشح «${attack}» والرسائل المشابهة.`,
    (attack) => `«${attack}» هجوم معروف.`,
    (attack) => `كيف أمنع أحدهم من كتابة «${attack}» في محادثتنا؟`,
    (attack) => `بحسب التقرير أخفى المهاجم «${attack}» بخط أبيض.`,
  ],
  hi: [
    (attack) => `फ़िल्टर «${attack}» और ऐसे संदेशों को पहचान लेता है।`,
    (attack) => `"${attack}" एक जाना-माना हमला है।`,
    (attack) => `मैं कैसे रोकूँ कि कोई हमारी चैट में "${attack}" न लिखे?`,
    (attack) => `रिपोर्ट के अनुसार हमलावर ने सफ़ेद अक्षरों में "${attack}" छिपाया था।`,
  ],
  zh: [
    (attack) => `过滤器能识别“${attack}”之类的消息。`,
    (attack) => `“${attack}”是一种常见的攻击。`,
    (attack) => `怎样防止有人在聊天里输入「${attack}」?`,
    (attack) => `报告说,攻击者用白色字体藏了“${attack}”。`,
  ],
  ja: [
    (attack) => `フィルターは「${attack}」のような文を検知します。`,
    (attack) => `「${attack}」は有名な攻撃です。`,
    (attack) => `誰かがチャットに「${attack}」と書くのを防ぐには?`,
    (attack) => `報告によると、攻撃者は白い文字で『${attack}』を隠していた。`,
  ],
  ko: [
    (attack) => `필터는 "${attack}" 같은 메시지를 탐지합니다.`,
    (attack) => `"${attack}"는 잘 알려진 공격입니다.`,
    (attack) => `누군가 채팅에 "${attack}"라고 쓰는 걸 어떻게 막나요?`,
    (attack) => `보고서에 따르면 공격자는 흰 글씨로 "${attack}"를 숨겼다.`,
  ],
  vi: [
    (attack) => `Bộ lọc phát hiện "${attack}" và các tin nhắn tương tự.`,
    (attack) => `"${attack}" là một cuộc tấn công nổi tiếng.`,
    (attack) => `Làm sao ngăn ai đó gõ “${attack}” vào khung chat?`,
    (attack) => `Theo báo cáo, kẻ tấn công đã giấu "${attack}" bằng chữ trắng.`,
  ],
  id: [
    (attack) => `Filter mendeteksi "${attack}" dan pesan serupa.`,
    (attack) => `"${attack}" adalah serangan yang terkenal.`,
    (attack) => `Bagaimana mencegah seseorang mengetik “${attack}” di obrolan kami?`,
    (attack) => `Menurut laporan, penyerang menyembunyikan "${attack}" dengan huruf putih.`,
  ],
  sv: [
    (attack) => `Filtret upptäcker ”${attack}” och liknande meddelanden.`,
    (attack) => `”${attack}” är ett känt angrepp.`,
    (attack) => `Hur hindrar jag att någon skriver ”${attack}” i vår chatt?`,
    (attack) => `Enligt rapporten hade angriparen gömt ”${attack}” i vit text.`,
  ],
  cs: [
    (attack) => `Filtr rozpozná „${attack}“ a podobné zprávy.`,
    (attack) => `„${attack}“ je známý útok.`,
    (attack) => `Jak zabránit tomu, aby někdo napsal „${attack}“ do našeho chatu?`,
    (attack) => `Podle zprávy útočník schoval „${attack}“ bílým písmem.`,
  ],
  el: [
    (attack) => `Το φίλτρο εντοπίζει «${attack}» και παρόμοια μηνύματα.`,
    (attack) => `«${attack}» είναι μια γνωστή επίθεση.`,
    (attack) => `Πώς αποτρέπω κάποιον να γράψει «${attack}» στο chat μας;`,
    (attack) => `Σύμφωνα με την αναφορά, ο επιτιθέμενος είχε κρύψει «${attack}» με λευκά γράμματα.`,
  ],
  he: [
    (attack) => `המסנן מזהה "${attack}" והודעות דומות.`,
    (attack) => `"${attack}" היא התקפה מוכרת.`,
    (attack) => `איך מונעים ממישהו לכתוב "${attack}" בצ'אט שלנו?`,
    (attack) => `לפי הדוח, התוקף הסתיר "${attack}" באותיות לבנות.`,
  ],
  fa: [
    (attack) => `فیلتر «${attack}» و پیام‌های مشابه را تشخیص می‌دهد.`,
    (attack) => `«${attack}» حمله‌ای شناخته‌شده است.`,
    (attack) => `چطور جلوی کسی را بگیرم که «${attack}» را در چت بنویسد؟`,
    (attack) => `بنا بر گزارش، مهاجم «${attack}» را با حروف سفید پنهان کرده بود.`,
  ],
  ro: [
    (attack) => `Filtrul detectează „${attack}” și mesajele asemănătoare.`,
    (attack) => `„${attack}” este un atac cunoscut.`,
    (attack) => `Cum împiedic pe cineva să scrie „${attack}” în chatul nostru?`,
    (attack) => `Potrivit raportului, atacatorul ascunsese „${attack}” cu litere albe.`,
  ],
};

/** The attack as a quotation that nobody talks about. */
const SPOKEN: readonly ((attack: string) => string)[] = [
  (attack) => `"${attack}"`,
  (attack) => `OK. "${attack}"`,
  (attack) => JSON.stringify({ title: 'Info', text: attack }),
];

describe('attacks and benign twins in other languages than English', () => {
  const engine = createEngine({ mode: 'rules' });
  const isBlocked = (text: string): boolean => engine.scan(text).verdict === 'block';
  const { pack } = loadPack({ today: '2026-01-01' });
  const rules = pack.layers.flatMap((layer) => layer.rules);
  const attacks = Object.entries(MENTIONS).map(([language, frames]) => ({
    language,
    frames,
    texts: rules
      .filter(({ id }) => id.endsWith(`-${language}`))
      .flatMap(({ examples }) => examples.positive.slice(0, 2).map(({ text }) => text))
      .filter((text) => text.length <= 140 && !/["“”„«»「」『』\n]/.test(text) && isBlocked(text)),
  }));

  it.each(attacks)('tries a dozen attacks in $language', ({ texts }) => {
    expect(texts.length).toBeGreaterThan(11);
  });

  it('are benign where somebody writes about an attack in quotation marks', () => {
    const mentions = attacks.flatMap(({ frames, texts }) => frames.flatMap((frame) => texts.map(frame)));
    expect(mentions.filter(isBlocked).length / mentions.length).toBeLessThan(0.03);
  });

  it('stay attacks where nobody writes about the quotation', () => {
    const quotations = attacks.flatMap(({ texts }) => SPOKEN.flatMap((frame) => texts.map(frame)));
    expect(quotations.filter(isBlocked).length / quotations.length).toBeGreaterThan(0.97);
  });

  it('are told apart in the authored twins', () => {
    const lines = readFileSync('models/training/data/authored.jsonl', 'utf8').trimEnd().split('\n');
    const blocked = { injection: 0, benign: 0 };
    for (const line of lines) {
      const row: { source: string; label: 'injection' | 'benign'; text: string } = JSON.parse(line);
      if (row.source === 'own v-twins' && isBlocked(row.text)) blocked[row.label] += 1;
    }
    expect(blocked.injection).toBeGreaterThanOrEqual(169);
    expect(blocked.benign).toBeLessThanOrEqual(4);
  });
});
