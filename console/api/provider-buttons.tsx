import { Button, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAuth } from './api-context.ts';

const NAMES = { google: 'Google', github: 'GitHub' };

/** A button for each social login that is enabled here; nothing while they are unknown, or if there is none. */
export function ProviderButtons({ mode }: { mode: 'login' | 'signup' }) {
  const { t } = useTranslation();
  const { stranger, baseUrl } = useAuth();
  const { data } = useQuery({
    queryKey: ['oauth', 'providers'],
    queryFn: ({ signal }) => stranger.oauth.providers({}, { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (!data || data.providers.length === 0) return null;
  return (
    <Stack gap="xs">
      {data.providers.map((provider) => (
        <Button
          key={provider}
          component="a"
          href={`${baseUrl}/v1/auth/oauth/${provider}/start?mode=${mode}`}
          variant="default"
          fullWidth
        >
          {t(`session.oauth.${mode}`, { provider: NAMES[provider] })}
        </Button>
      ))}
    </Stack>
  );
}
