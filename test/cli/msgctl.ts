import path from 'node:path';
import { projectRoot } from '../support/process.ts';
import { askShared } from '../support/shared.ts';

/** The program that npm links as msgctl in a checkout. It runs the sources. */
export const LAUNCHER = path.join(projectRoot, 'cli/bin/msgctl.js');

/** The published form of msgctl, which starts in a third of the CPU, where the run has built it; else the launcher. */
export const MSGCTL = (await askShared('packages'))?.msgctl ?? LAUNCHER;
