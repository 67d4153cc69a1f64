/** Where an error happened without what it said: a message may hold a part of the text, in lines that look like frames too. */
export function safeFrames(error: Error): readonly string[] {
  const { stack = '', message } = error;
  const said = message === '' ? -1 : stack.indexOf(message);
  return stack
    .slice(said === -1 ? 0 : said + message.length)
    .split('\n')
    .filter((line) => line.startsWith('    at '))
    .slice(0, 8);
}
