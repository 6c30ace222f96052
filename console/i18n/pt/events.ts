import type { Translations } from '../translations.ts';

export const events: Translations['events'] = {
  title: 'Eventos',
  event: 'Evento',
  type: 'Tipo',
  what: 'Dados',
  types: 'Tipos: nomes ou padrões, separados por vírgulas',
  download: 'Baixar',
  pause: 'Pausar',
  resume: 'Continuar',
  running_one: 'Ao vivo. {{count}} aparece, no máximo 500.',
  running_other: 'Ao vivo. {{count}} aparecem, no máximo 500.',
  paused: 'Pausado. Ao continuar, aparece o que aconteceu enquanto isso.',
  empty: 'Nada aconteceu ainda. O que acontece aparece aqui sozinho.',
};
