import { type ChildProcess, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Readable } from 'node:stream';

/** ffmpeg gave up on its input, or we on it. */
export class ConversionFailed extends Error {
  override name = 'ConversionFailed';
}

export interface FfmpegRun {
  /** What it says of its input: streams, sizes, duration. */
  report: string;
}

const TIMEOUT_MS = 120_000;
const REPORT_MAX_CHARS = 64 * 1024;
/** One allocation of the program, e.g. of a frame: a picture of 40,000 x 40,000 pixels ends here. */
const ALLOCATION_MAX_BYTES = 256 * 1024 * 1024;
/** All of its memory, where the system can hold it to that. */
const MEMORY_MAX_KB = 2 * 1024 * 1024;
/** Containers and raw streams that people send. No playlists and nothing that names other files. */
const FORMATS =
  'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,ogg,mp3,aac,wav,w64,flac,amr,avi,asf,flv,mpeg,mpegts,mpegvideo,m4v,gif,caf,aiff,ac3,ape,dsf,wv,au';

/**
 * Runs ffmpeg on a file that a stranger made: it reads that one file and no other, as one of the formats we
 * know, on one thread, bounded in memory and time, and after everybody else. `onData` gets what it writes to
 * its standard output. Throws {@link ConversionFailed}, or what `signal` says.
 */
export async function runFfmpeg(
  program: string,
  job: {
    input: string;
    /** Options and outputs, after the input. */
    output: readonly string[];
    onData?: (chunk: Buffer) => void;
    /** An output of nothing, for the report alone, ends with an error that is none. */
    reportOnly?: boolean;
  },
  signal: AbortSignal,
): Promise<FfmpegRun> {
  signal.throwIfAborted();
  const args = [
    ...['-hide_banner', '-nostdin', '-y', '-v', 'info', '-nostats'],
    ...['-max_alloc', String(ALLOCATION_MAX_BYTES), '-threads', '1'],
    ...['-protocol_whitelist', 'file,pipe', '-format_whitelist', FORMATS],
    ...['-i', job.input, ...job.output],
  ];
  const child = start(program, args);
  if (child.pid !== undefined) lowerPriority(child.pid);
  let report = '';
  child.stderr.on('data', (chunk: Buffer) => {
    if (report.length < REPORT_MAX_CHARS) report += chunk.toString('utf8');
  });
  child.stdout.on('data', (chunk: Buffer) => job.onData?.(chunk));
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, TIMEOUT_MS);
  const abort = () => child.kill('SIGKILL');
  signal.addEventListener('abort', abort, { once: true });
  try {
    const code = await ended(child);
    signal.throwIfAborted();
    if (timedOut) throw new ConversionFailed('ffmpeg took too long');
    if (code !== 0 && !job.reportOnly) throw new ConversionFailed(`ffmpeg ended with ${code}`);
    return { report };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

type Child = ChildProcess & { stdout: Readable; stderr: Readable };

function start(program: string, args: readonly string[]): Child {
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
  if (process.platform !== 'linux') return spawn(program, args, { stdio });
  // The shell sets the limit and becomes the program: the process id stays the same.
  const limited = `ulimit -v ${MEMORY_MAX_KB} 2>/dev/null; exec "$0" "$@"`;
  return spawn('/bin/sh', ['-c', limited, program, ...args], { stdio });
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, 10);
  } catch {
    // Ended already, or not allowed: then it runs like the rest.
  }
}

function ended(child: Child): Promise<number | null> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => reject(new ConversionFailed('ffmpeg does not start', { cause })));
    // `close`, not `exit`: its output is whole by then.
    child.once('close', (code) => resolve(code));
  });
}
