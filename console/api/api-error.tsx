import { PosthornError } from '@posthorn/sdk/index.ts';
import type { TFunction } from 'i18next';
import { useTranslation } from 'react-i18next';
import { ErrorBox } from '../components/error-box.tsx';
import { faultText } from './fault-words.ts';

/** The error of a request: our text for its code if there is one, else the service's message, in our words if we can. */
export function ApiError(props: { error: unknown; onRetry?: () => void; hint?: string | undefined }) {
  const { error, onRetry, hint } = props;
  const { t } = useTranslation();
  const { code, traceId } = error instanceof PosthornError ? error : { code: null, traceId: null };
  return (
    <ErrorBox
      title={t('common.errors.title')}
      text={[textOf(t, error), hint].filter(Boolean).join(' ')}
      code={code}
      traceId={traceId}
      onRetry={onRetry}
    />
  );
}

export function textOf(t: TFunction, error: unknown): string {
  if (!(error instanceof PosthornError)) return t('common.errors.unknown');
  return textOfCode(t, error.code) ?? faultText(t, error.message);
}

/** Null for a code without a text of ours. */
export function textOfCode(t: TFunction, code: string): string | null {
  const key = `common.errors.${code}` as 'common.errors.NETWORK';
  const text = t(key, { defaultValue: '' });
  return text === '' ? null : text;
}
