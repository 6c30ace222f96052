/** Number of bars a voice note shows (MED-18). */
const BARS = 64;
const LOUDEST = 100;
/** Windows kept while the length is unknown; a longer note merges them in pairs. */
const WINDOWS_MAX = 4096;

/** Takes mono 16-bit little-endian samples in chunks, in constant memory. */
export interface WaveformMeter {
  push(chunk: Buffer): void;
  /** 64 bytes of 0 to 100; the loudest bar is 100 unless all is silent. */
  waveform(): Buffer;
  samples(): number;
}

export function createWaveformMeter(): WaveformMeter {
  let windows: number[] = [];
  let windowSamples = 80;
  let sum = 0;
  let inWindow = 0;
  let total = 0;
  /** The first byte of a sample that two chunks share. */
  let odd: number | null = null;

  function add(sample: number): void {
    sum += Math.abs(sample);
    inWindow += 1;
    total += 1;
    if (inWindow < windowSamples) return;
    windows.push(sum / inWindow);
    sum = 0;
    inWindow = 0;
    if (windows.length < WINDOWS_MAX) return;
    windows = Array.from(
      { length: WINDOWS_MAX / 2 },
      (_, at) => (windows[2 * at]! + windows[2 * at + 1]!) / 2,
    );
    windowSamples *= 2;
  }

  return {
    push(chunk) {
      let at = 0;
      if (odd !== null && chunk.length > 0) {
        add(((chunk[0]! << 24) >> 16) | odd);
        odd = null;
        at = 1;
      }
      for (; at + 1 < chunk.length; at += 2) add(chunk.readInt16LE(at));
      if (at < chunk.length) odd = chunk[at]!;
    },
    waveform() {
      const heard = inWindow > 0 ? [...windows, sum / inWindow] : windows;
      const bars = Array.from({ length: BARS }, (_, bar) => {
        const from = Math.floor((bar * heard.length) / BARS);
        const to = Math.max(from + 1, Math.floor(((bar + 1) * heard.length) / BARS));
        const part = heard.slice(from, to);
        return part.length === 0 ? 0 : part.reduce((all, each) => all + each, 0) / part.length;
      });
      const loudest = Math.max(...bars);
      return Buffer.from(bars.map((bar) => (loudest === 0 ? 0 : Math.round((bar / loudest) * LOUDEST))));
    },
    samples: () => total,
  };
}
