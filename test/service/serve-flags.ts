/** What `serve` gives its settings where no option is named, without those of the tests at hand. */
export const SERVE_FLAGS = {
  data: 'data',
  host: '127.0.0.1',
  port: '0',
  workers: '1',
  processes: '1',
  bodyLimit: '1048576',
  callsAtOnce: '10',
  deadline: '1000',
  signUp: 'off',
  logLevel: 'silent',
} as const;
