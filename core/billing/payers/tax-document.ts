import { cnpj, cpf } from 'cpf-cnpj-validator';

export type DocumentType = 'cpf' | 'cnpj';

/**
 * The digits of a CPF or CNPJ, punctuation dropped; null when it is none or its check digits are wrong.
 * Digits only, as the profile shows them (BIL-3): the CNPJ with letters is not taken.
 */
export function parseTaxDocument(type: string, text: string): { type: DocumentType; number: string } | null {
  if (type !== 'cpf' && type !== 'cnpj') return null;
  if (!/^[\d.\-/\s]+$/.test(text)) return null;
  const number = text.replace(/\D/g, '');
  const valid = type === 'cpf' ? cpf.isValid(number) : cnpj.isValid(number);
  return valid ? { type, number } : null;
}
