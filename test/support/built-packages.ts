import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { baseEnv, projectRoot } from './process.ts';

/** The packages as they are published, in `sdk/dist` and `cli/dist`. */
export interface BuiltPackages {
  /** The program of msgctl. */
  msgctl: string;
}

/** Takes 15 s of CPU, most of it for the types of the SDK. */
export async function buildPackages(): Promise<BuiltPackages> {
  await promisify(execFile)(process.execPath, ['cli/build.ts'], { cwd: projectRoot, env: baseEnv() });
  return { msgctl: path.join(projectRoot, 'cli/dist/msgctl.js') };
}
