import { Group, Paper, Stack, Text } from '@mantine/core';
import type { Product } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { MediaView } from '../../api/media-view.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { ScrollRegion } from '../../components/scroll-region.tsx';
import { StateBadge, type Tone } from '../../components/state-badge.tsx';

const TONES: Readonly<Record<string, Tone>> = { approved: 'good', pending: 'busy', rejected: 'bad' };
/** More characters may take more than the lines that a card shows of them. */
const LONG = 200;

export function ProductCard({ instanceId, product }: { instanceId: string; product: Product }) {
  const { t, i18n } = useTranslation();
  const { name, description, price, currency, is_hidden: isHidden, review_status: review } = product;
  const mediaId = /\/media\/([\w-]+)$/.exec(product.image_url)?.[1];
  return (
    <Paper p="md" component="article">
      <Stack gap="xs">
        {mediaId && <MediaView instanceId={instanceId} mediaId={mediaId} kind="image" name={name} />}
        <Text size="sm" fw={600} className="foreign">
          {name}
        </Text>
        {description && <Description text={description} label={name} />}
        <Group justify="space-between">
          <Text size="sm">{priceText(price, currency, i18n.language)}</Text>
          {isHidden && <StateBadge tone="idle" label={t('catalog.hidden')} />}
          {review && <Review status={review} />}
        </Group>
        <CopyText label={t('common.fields.id')} text={product.id} thing={name} />
      </Stack>
    </Paper>
  );
}

/** A long one scrolls in itself; a short one is no stop on the way through the page by keyboard. */
function Description({ text, label }: { text: string; label: string }) {
  const shown = (
    <Text size="sm" className="foreign">
      {text}
    </Text>
  );
  if (text.length < LONG) return shown;
  return (
    <ScrollRegion label={label} mah="9rem">
      {shown}
    </ScrollRegion>
  );
}

/** The network may name a state for which we have no text. */
function Review({ status }: { status: string }) {
  const { t } = useTranslation();
  const label = t(`catalog.reviews.${status as 'approved'}`, { defaultValue: status });
  return <StateBadge tone={TONES[status] ?? 'idle'} label={label} />;
}

/** The network names the currency, and may name one that nobody knows. */
function priceText(price: number, currency: string, language: string): string {
  try {
    const format = new Intl.NumberFormat(language, { style: 'currency', currency });
    return format.format(price / 10 ** (format.resolvedOptions().maximumFractionDigits ?? 0));
  } catch {
    return `${price} ${currency}`;
  }
}
