import { type ChildProcess, type SpawnOptionsWithStdioTuple, spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import type { Readable } from 'node:stream';
import { MEDIA_MAX_BYTES } from '@posthorn/contract/limits.ts';
import type { Ffmpeg } from './find-ffmpeg.ts';

/** ffmpeg rejected its input, or used up its processor time. */
export class ConversionFailed extends Error {
  override name = 'ConversionFailed';
}

export interface FfmpegRun {
  /** ffmpeg's report on its input: streams, sizes, duration. */
  report: string;
}

/** No file needs this long, since its processor time is limited. When one takes it, the machine is full, and a later try may succeed. */
const TIMEOUT_MS = 600_000;
const REPORT_MAX_CHARS = 64 * 1024;
/** The end of the report, which says why ffmpeg ended, is kept however long the report is. */
const LAST_WORDS_CHARS = 2_048;
/** Limit of one allocation by ffmpeg, e.g. for a frame: a picture of 40,000 x 40,000 pixels fails here. */
const ALLOCATION_MAX_BYTES = 256 * 1024 * 1024;
/**
 * Limits set with `ulimit`, where the system has it: address space, CPU time, size of a written file (in
 * blocks of 512 bytes: twice the network's maximum), open files, no core dumps.
 */
const LIMITS = {
  v: 2 * 1024 * 1024,
  t: 100,
  f: (2 * MEDIA_MAX_BYTES) / 512,
  n: 64,
  c: 0,
};
/** Containers and raw streams that people send. No playlists and no formats that refer to other files. */
const FORMATS =
  'mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,ogg,mp3,aac,wav,w64,flac,amr,avi,asf,flv,mpeg,mpegts,mpegvideo,m4v,gif,caf,aiff,ac3,ape,dsf,wv,au';

/** Decoders for these formats. Each one left out is one less that a stranger's file can attack. */
const CODECS =
  'h264,hevc,libdav1d,libaom-av1,av1,vp8,vp9,libvpx,libvpx-vp9,mpeg4,mpeg1video,mpeg2video,h263,msmpeg4,msmpeg4v1,' +
  'msmpeg4v2,wmv1,wmv2,wmv3,vc1,flv,theora,mjpeg,gif,png,' +
  'aac,aac_latm,mp3,mp3float,mp2,mp2float,opus,libopus,vorbis,libvorbis,flac,alac,amrnb,amrwb,libopencore_amrnb,' +
  'libopencore_amrwb,ac3,eac3,ape,speex,libspeex,wmav1,wmav2,wmapro,adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,' +
  'dsd_lsbf,dsd_msbf,dsd_lsbf_planar,dsd_msbf_planar,pcm_u8,pcm_s8,pcm_alaw,pcm_mulaw,pcm_s16le,pcm_s16be,' +
  'pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be,pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be';

/**
 * Runs ffmpeg on a file made by a stranger. It reads only that file, in the formats and codecs listed above,
 * on one thread, at low priority, with limited memory and time, without our environment and, where the kernel
 * allows, without a network. `onData` gets its standard output. Throws {@link ConversionFailed}, the
 * reason of `signal`, or another error when the file is not to blame: then the run may succeed the next time.
 */
export async function runFfmpeg(
  ffmpeg: Ffmpeg,
  job: {
    input: string;
    /** Options and outputs, after the input. */
    output: readonly string[];
    onData?: (chunk: Buffer) => void;
    /**
     * Set for runs that only need the report: without an output ffmpeg exits with an error, which is ignored.
     */
    reportOnly?: boolean;
  },
  signal: AbortSignal,
): Promise<FfmpegRun> {
  signal.throwIfAborted();
  const args = [
    ...['-hide_banner', '-nostdin', '-y', '-v', 'info', '-nostats'],
    ...['-max_alloc', String(ALLOCATION_MAX_BYTES), '-threads', '1'],
    ...['-protocol_whitelist', 'file,pipe', '-format_whitelist', FORMATS, '-codec_whitelist', CODECS],
    ...['-i', `file:${job.input}`, ...job.output],
  ];
  const child = start(ffmpeg, args);
  const ending = ended(child);
  if (child.pid !== undefined) lowerPriority(child.pid);
  let report = '';
  let lastWords = '';
  // Without a free descriptor it has no pipes.
  child.stderr?.on('data', (chunk: Buffer) => {
    const text = chunk.toString('utf8');
    if (report.length < REPORT_MAX_CHARS) report += text;
    lastWords = (lastWords + text).slice(-LAST_WORDS_CHARS);
  });
  child.stdout?.on('data', (chunk: Buffer) => job.onData?.(chunk));
  let timedOut = false;
  const timer = setTimeout(() => {
    timedOut = true;
    child.kill('SIGKILL');
  }, TIMEOUT_MS);
  const abort = () => child.kill('SIGKILL');
  signal.addEventListener('abort', abort, { once: true });
  try {
    const [code, endedBy] = await ending;
    signal.throwIfAborted();
    if (timedOut) throw new Error('ffmpeg got too little processor time');
    if (code !== 0) throwUnlessOfFile(code, endedBy, lastWords);
    if (code !== 0 && !job.reportOnly) throw new ConversionFailed(`ffmpeg ended with ${code ?? endedBy}`);
    return { report };
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', abort);
  }
}

/** Signals of a terminal or a service manager, which end whole groups of processes. The others are of our limits, or of a crash. */
const OUTSIDE_SIGNALS: readonly (NodeJS.Signals | null)[] = ['SIGHUP', 'SIGINT', 'SIGTERM'];
/** ffmpeg ends by itself after these. Lines that quote the file begin with a space. */
const OUTSIDE_WORDS = /^(Exiting normally, received signal (1|2|15)\.|Received > 3 system signals)/m;
const DISK_FULL = /^\S.*: (No space left on device|Disk quota exceeded)\s*$/m;
/** The program that isolates it is refused a process or a namespace. */
const NOT_ISOLATED = /^unshare: /m;

/** Throws when something other than the file ended the run. */
function throwUnlessOfFile(code: number | null, endedBy: NodeJS.Signals | null, lastWords: string): void {
  if (OUTSIDE_SIGNALS.includes(endedBy) || OUTSIDE_WORDS.test(lastWords))
    throw new Error('ffmpeg was ended from outside');
  // The shell's own codes.
  if (code === 126 || code === 127 || NOT_ISOLATED.test(lastWords))
    throw new Error(`ffmpeg does not start: ${lastWords.trim()}`);
  if (DISK_FULL.test(lastWords))
    throw Object.assign(new Error('ffmpeg found the disk full'), { code: 'ENOSPC' });
}

type Child = ChildProcess & { stdout: Readable | undefined; stderr: Readable | undefined };

function start({ path, wrap }: Ffmpeg, args: readonly string[]): Child {
  // Our environment holds secrets. LC_ALL=C because we parse its messages in English.
  const options: SpawnOptionsWithStdioTuple<'ignore', 'pipe', 'pipe'> = {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { LC_ALL: 'C' },
    cwd: '/',
  };
  if (process.platform === 'win32') return spawn(path, args, { ...options, cwd: undefined });
  // The shell sets the limits and then becomes the program, so the process id stays the same. A limit that
  // the system does not know, or that is already lower, is skipped.
  const limits = Object.entries(LIMITS).map(([name, value]) => `ulimit -${name} ${value} 2>/dev/null;`);
  return spawn('/bin/sh', ['-c', `${limits.join(' ')} exec "$0" "$@"`, ...wrap, path, ...args], options);
}

function lowerPriority(pid: number): void {
  try {
    setPriority(pid, 10);
  } catch {
    // It has already ended, or changing the priority is not allowed: it runs at normal priority.
  }
}

/** Resolves with the exit code or the signal of the program. Rejects when it could not be started. */
function ended(child: Child): Promise<[number | null, NodeJS.Signals | null]> {
  return new Promise((resolve, reject) => {
    child.on('error', (cause) => reject(new Error('ffmpeg does not start', { cause })));
    // `close`, not `exit`: only then is its output complete.
    child.once('close', (code, signal) => resolve([code, signal]));
  });
}
