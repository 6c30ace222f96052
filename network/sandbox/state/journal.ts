/**
 * The append-only file that outlives a restart: JSON lines, gathered over a tick and written with one
 * call before anything of that tick is told to a driver. The write is synchronous on purpose: it is a
 * copy into the page cache (which survives kill -9 of this process), and "acknowledged" may then
 * simply be said after it. Power loss is out of scope for a test network.
 */
import { closeSync, openSync, renameSync, truncateSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder } from '@posthorn/core/platform/process/make-folder.ts';
import type { JournalRecord } from './records.ts';

export interface Journal {
  append(record: JournalRecord): void;
  /** Appends a line that is already JSON. */
  appendJson(json: string): void;
  /** Writes what was gathered; throws when the disk refuses, and keeps it for the next try. */
  flush(): void;
  close(): void;
}

/** Keeps nothing. */
export const noJournal: Journal = { append() {}, appendJson() {}, flush() {}, close() {} };

export function journalPath(dataDir: string): string {
  return join(dataDir, 'network.jsonl');
}

/** `onPending` is called when the first line of a batch arrives: the owner then calls `flush` soon. */
export function openJournal(path: string, onPending: () => void): Journal {
  const file = openSync(path, 'a');
  let lines: string[] = [];
  let unwritten: Buffer | undefined;

  let closed = false;

  function appendJson(json: string) {
    // A network that is closing says nothing more to anybody, so nothing that happens then counts.
    if (closed) return;
    if (lines.length === 0) onPending();
    lines.push(json);
  }

  function flush() {
    if (lines.length > 0) {
      const batch = Buffer.from(`${lines.join('\n')}\n`);
      unwritten = unwritten ? Buffer.concat([unwritten, batch]) : batch;
      lines = [];
    }
    while (unwritten) {
      const written = writeSync(file, unwritten);
      unwritten = written < unwritten.length ? unwritten.subarray(written) : undefined;
    }
  }

  return {
    append: (record) => appendJson(JSON.stringify(record)),
    appendJson,
    flush,
    close() {
      flush();
      closed = true;
      closeSync(file);
    },
  };
}

/**
 * Hands every record of the file to `apply`, in order, and returns how many there were. A last line
 * that a crash cut short is cut off the file; a broken line before it is an error.
 */
export async function replayJournal(path: string, apply: (record: JournalRecord) => void): Promise<number> {
  let count = 0;
  let goodBytes = 0;
  let rest: Buffer = Buffer.alloc(0);
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
  for await (const chunk of file.createReadStream({ highWaterMark: 1 << 20 })) {
    const bytes: Buffer = rest.length > 0 ? Buffer.concat([rest, chunk as Buffer]) : (chunk as Buffer);
    let start = 0;
    for (let end = bytes.indexOf(10); end >= 0; end = bytes.indexOf(10, start)) {
      apply(parseLine(bytes.toString('utf8', start, end), ++count));
      goodBytes += end + 1 - start;
      start = end + 1;
    }
    rest = bytes.subarray(start);
  }
  if (rest.length > 0) truncateSync(path, goodBytes);
  return count;
}

function parseLine(line: string, number: number): JournalRecord {
  try {
    return JSON.parse(line) as JournalRecord;
  } catch (cause) {
    throw new Error(`the sandbox journal is damaged at line ${number}`, { cause });
  }
}

/** Replaces the file by one that holds just `records`; the old one stays until the new one is whole. */
export function rewriteJournal(path: string, records: Iterable<JournalRecord>): void {
  const next = `${path}.next`;
  truncateIfThere(next);
  const journal = openJournal(next, () => {});
  let gathered = 0;
  for (const record of records) {
    journal.append(record);
    if (++gathered % 1000 === 0) journal.flush();
  }
  journal.close();
  renameSync(next, path);
}

function truncateIfThere(path: string) {
  closeSync(openSync(path, 'w'));
}

export function makeDataDir(dataDir: string): void {
  makeFolder(dataDir, 0o700);
}
