import type { Translations } from '../translations.ts';

export const catalog: Translations['catalog'] = {
  title: 'Catálogo',
  whose: 'Telefone da empresa',
  own: 'o próprio',
  show: 'Mostrar',
  empty: 'Esta conta não mostra produtos.',
  lacks: 'A rede desta instância não tem catálogos.',
  hidden: 'Oculto',
  reviews: { approved: 'Aprovado', pending: 'Em análise', rejected: 'Recusado' },
};
