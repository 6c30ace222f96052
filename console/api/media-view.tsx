import { Button, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { nameFor, shortText } from '../components/row-button.tsx';
import { useClient } from './api-context.ts';
import { textOf } from './api-error.tsx';

/** Shows media. Pictures are loaded when they become visible; sounds, videos and files when the user asks for them. */
export function MediaView(props: {
  instanceId: string;
  mediaId: string;
  kind: 'image' | 'video' | 'audio' | 'file';
  name: string;
}) {
  const { t } = useTranslation();
  const place = useRef<HTMLDivElement>(null);
  const [isWanted, want] = useState(false);
  const isPicture = props.kind === 'image';
  useEffect(() => {
    if (!isPicture || !place.current) return;
    const seen = new IntersectionObserver(([entry]) => entry?.isIntersecting && want(true));
    seen.observe(place.current);
    return () => seen.disconnect();
  }, [isPicture]);
  const { url, error } = useMediaUrl(props.instanceId, props.mediaId, isWanted);
  return (
    <div ref={place} className={`media media-${props.kind}`}>
      {error ? (
        <Text size="sm">{textOf(t, error)}</Text>
      ) : url ? (
        <Medium kind={props.kind} url={url} name={props.name} />
      ) : (
        !isPicture && (
          <Button
            size="compact-sm"
            variant="default"
            aria-label={nameFor(t(`messages.media.${props.kind}`), shortText(props.name))}
            loading={isWanted}
            onClick={() => want(true)}
          >
            {t(`messages.media.${props.kind}`)}
          </Button>
        )
      )}
    </div>
  );
}

function Medium({ kind, url, name }: { kind: string; url: string; name: string }) {
  const { t } = useTranslation();
  if (kind === 'image') return <img src={url} alt={name} />;
  // Media that somebody sent have no captions.
  // biome-ignore lint/a11y/useMediaCaption: nobody wrote one
  if (kind === 'video') return <video src={url} controls autoPlay aria-label={name} />;
  // biome-ignore lint/a11y/useMediaCaption: nobody wrote one
  if (kind === 'audio') return <audio src={url} controls autoPlay aria-label={name} />;
  return (
    <a href={url} download={name} className="foreign">
      {t('messages.media.save', { name })}
    </a>
  );
}

/** An object URL of the bytes, since the API requires the session. */
function useMediaUrl(instanceId: string, mediaId: string, isWanted: boolean) {
  const client = useClient();
  const [url, setUrl] = useState<string | null>(null);
  const { data, error } = useQuery<Blob>({
    queryKey: ['media', instanceId, mediaId],
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => (await client.media.download({ instanceId, mediaId }, { signal })).blob(),
  });
  useEffect(() => {
    if (!data) return;
    const made = URL.createObjectURL(data);
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [data]);
  return { url, error };
}
