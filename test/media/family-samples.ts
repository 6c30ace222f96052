import { animatedWebp, gif, jpeg, mp3, mp4, pdf } from './samples.ts';

export interface Sample {
  /** Below `/messages/`. */
  route: string;
  /** A story: it has no `to`. */
  status: boolean;
  bytes: Buffer;
  /** The type that its content has. */
  mime: string;
}

/** One sample for every route that takes media. */
export async function mediaFamilySamples(): Promise<Sample[]> {
  const [picture, film, sound] = [await jpeg(), await mp4(1), await mp3(1)];
  const chat = { status: false };
  const story = { status: true };
  return [
    { route: 'image', ...chat, bytes: picture, mime: 'image/jpeg' },
    { route: 'video', ...chat, bytes: film, mime: 'video/mp4' },
    { route: 'audio', ...chat, bytes: sound, mime: 'audio/mpeg' },
    { route: 'document', ...chat, bytes: pdf(), mime: 'application/pdf' },
    { route: 'document', ...chat, bytes: Buffer.from('name,age\nAna,7\n'), mime: 'text/plain' },
    { route: 'sticker', ...chat, bytes: await animatedWebp(), mime: 'image/webp' },
    { route: 'ptv', ...chat, bytes: film, mime: 'video/mp4' },
    { route: 'gif', ...chat, bytes: await gif(), mime: 'image/gif' },
    { route: 'status/image', ...story, bytes: picture, mime: 'image/jpeg' },
    { route: 'status/video', ...story, bytes: film, mime: 'video/mp4' },
    { route: 'status/audio', ...story, bytes: sound, mime: 'audio/mpeg' },
  ];
}
