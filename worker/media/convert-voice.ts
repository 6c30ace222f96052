import { stat } from 'node:fs/promises';
import { MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { Ffmpeg } from './find-ffmpeg.ts';
import { ConversionFailed, runFfmpeg } from './run-ffmpeg.ts';
import { createWaveformMeter } from './waveform.ts';

export const VOICE_TYPE = 'audio/ogg; codecs=opus';
const METER_RATE_HZ = 8_000;

/** Without `-vbr constrained` the rate overshoots; `voip` is the encoder's mode for speech. */
const OPUS = [
  ...['-map', '0:a:0', '-vn', '-sn', '-dn', '-map_metadata', '-1'],
  ...['-c:a', 'libopus', '-b:a', '32k', '-vbr', 'constrained', '-ar', '16000', '-ac', '1'],
  ...['-application', 'voip', '-fs', String(MEDIA_MAX_BYTES), '-f', 'ogg'],
];
const SAMPLES = ['-map', '0:a:0', '-vn', '-ac', '1', '-ar', String(METER_RATE_HZ), '-f', 's16le', 'pipe:1'];

export interface Voice {
  durationS: number;
  /** 64 bytes, base64. */
  waveform: string;
}

/**
 * Makes a voice note: OGG Opus, mono, 16 kHz, 32 kbps, with the waveform that phones draw (MED-18). Accepts
 * any file with sound. Without `output`, only computes the waveform of a file that already is OGG Opus.
 * Throws {@link ConversionFailed} if the file has no sound.
 */
export async function convertVoice(
  ffmpeg: Ffmpeg,
  files: { input: string; output?: string },
  signal: AbortSignal,
): Promise<Voice> {
  const meter = createWaveformMeter();
  await runFfmpeg(
    ffmpeg,
    {
      input: files.input,
      output: files.output ? [...OPUS, `file:${files.output}`, ...SAMPLES] : SAMPLES,
      onData: (chunk) => meter.push(chunk),
    },
    signal,
  );
  if (meter.samples() === 0) throw new ConversionFailed('there is no sound in it');
  if (files.output && (await stat(files.output)).size >= MEDIA_MAX_BYTES) {
    throw new ConversionFailed('as a voice note it is too long');
  }
  return {
    durationS: Math.max(1, Math.round(meter.samples() / METER_RATE_HZ)),
    waveform: meter.waveform().toString('base64'),
  };
}
