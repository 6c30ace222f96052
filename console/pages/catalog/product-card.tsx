import { Group, Paper, Stack, Text } from '@mantine/core';
import type { Product } from '@posthorn/sdk/index.ts';
import { useTranslation } from 'react-i18next';
import { MediaView } from '../../api/media-view.tsx';
import { CopyText } from '../../components/copy-text.tsx';
import { StateBadge } from '../../components/state-badge.tsx';

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
        {description && (
          <Text size="sm" className="foreign">
            {description}
          </Text>
        )}
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

/** The network may name a state for which we have no text. */
function Review({ status }: { status: string }) {
  const { t } = useTranslation();
  const label = t(`catalog.reviews.${status as 'approved'}`, { defaultValue: status });
  return <StateBadge tone={status === 'rejected' ? 'bad' : 'idle'} label={label} />;
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
