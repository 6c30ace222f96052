import type { Context } from '../../context.ts';

/** `--instance` narrows events down; without it all of the company's are meant, not the remembered one's. */
export async function eventInstance(context: Context): Promise<string | undefined> {
  return context.namedInstance === undefined ? undefined : context.instanceId(context.namedInstance);
}
