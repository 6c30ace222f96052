// Loaded before a program: its time of day is off by TIME_OFF_MS, and by as much in the other direction from each
// SIGUSR2 to the next. Its monotonic time is not affected, as when somebody sets the clock of a machine.
const RealDate = Date;
let offMs = Number(process.env.TIME_OFF_MS ?? 0);
process.on('SIGUSR2', () => {
  offMs = -offMs;
});
globalThis.Date = class SetDate extends RealDate {
  constructor(...given) {
    super(...(given.length > 0 ? given : [RealDate.now() + offMs]));
  }
  static now() {
    return RealDate.now() + offMs;
  }
};
