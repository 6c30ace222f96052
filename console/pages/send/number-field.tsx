import { NumberInput, type NumberInputProps } from '@mantine/core';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';

/**
 * A number. It keeps the text while that is not a number yet, such as "-" or "0.0", which would otherwise be taken out
 * of the field again.
 */
export function NumberField({
  value,
  onChange,
  ...input
}: Omit<NumberInputProps, 'value' | 'onChange'> & {
  value: number | undefined;
  onChange: (value: number | undefined) => void;
}) {
  const { i18n } = useTranslation();
  const [typed, setTyped] = useState<number | string>('');
  return (
    <NumberInput
      {...input}
      value={numberOf(typed) === value ? typed : (value ?? '')}
      decimalSeparator={i18n.language === 'pt' ? ',' : '.'}
      decimalScale={12}
      hideControls
      onChange={(next) => {
        setTyped(next);
        onChange(numberOf(next));
      }}
    />
  );
}

function numberOf(typed: number | string): number | undefined {
  return typed === '' || Number.isNaN(Number(typed)) ? undefined : Number(typed);
}
