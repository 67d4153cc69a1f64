// Loaded before the service (node --import): its wall clock is the system's plus what the parent process last sent.
const SystemDate = Date;
let shift = 0;

globalThis.Date = class extends SystemDate {
  constructor(...given) {
    if (given.length === 0) super(SystemDate.now() + shift);
    else super(...given);
  }

  static now() {
    return SystemDate.now() + shift;
  }
};

if (process.env.PORTCULLIS_TEST_CLOCK === process.ppid.toString()) {
  process.on('message', (message) => {
    if (typeof message?.shift !== 'number') return;
    shift = message.shift;
    process.send({ shifted: shift });
  });
  process.channel?.unref();
  // It ends with the process of its tests, however that ends.
  process.on('disconnect', () => process.exit());
}
