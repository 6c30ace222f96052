import { png } from '@posthorn/test/media/samples.ts';
import type { Target } from '../load.ts';

/** A shop sends each of its pictures many times. */
const IMAGES_PER_INSTANCE = 10;

/** Uploads images to each instance and returns the function that builds sends with them in turn. */
export async function uploadImages(target: Target): Promise<NonNullable<Target['formOf']>> {
  const mediaIds = new Map<string, string[]>();
  for (const instanceId of target.instanceIds) {
    const ids: string[] = [];
    for (let i = 0; i < IMAGES_PER_INSTANCE; i += 1) ids.push(await upload(target, instanceId, i));
    mediaIds.set(instanceId, ids);
  }
  let turn = 0;
  return (instanceId, { to, text }) => {
    const ids = mediaIds.get(instanceId)!;
    turn += 1;
    return { operation: 'image', body: { to, media_id: ids[turn % ids.length], caption: text } };
  };
}

async function upload(target: Target, instanceId: string, nth: number): Promise<string> {
  const form = new FormData();
  form.set('file', new Blob([await png({ width: 40 + nth })], { type: 'image/png' }), `picture-${nth}.png`);
  const answer = await fetch(`${target.url}/v1/instances/${instanceId}/media`, {
    method: 'POST',
    headers: { 'x-api-key': target.apiKey },
    body: form,
  });
  if (!answer.ok) throw new Error(`the upload was refused: ${answer.status} ${await answer.text()}`);
  const { media_id } = (await answer.json()) as { media_id: string };
  return media_id;
}
