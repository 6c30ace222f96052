import type { Translations } from '../translations.ts';

export const status: Translations['status'] = {
  title: 'Status',
  post: 'Publicar um status',
  whose: 'Status de quem',
  directions: { outbound: 'Publicados aqui', inbound: 'De contatos' },
  empty: {
    outbound: 'Um status aparece para os seus contatos por um dia. Publique o primeiro.',
    inbound: 'Nenhum contato publicou um status.',
  },
  views: 'Quem viu',
  seenBy_one: 'Visto por {{count}} pessoa',
  seenBy_other: 'Visto por {{count}} pessoas',
  open: 'Ver os status',
  again: 'Publicar outro',
};
