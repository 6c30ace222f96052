import type { Translations } from '../translations.ts';

export const queue: Translations['queue'] = {
  tabs: {
    log: 'Todas as mensagens',
    queue: 'Fila',
    scheduled: 'Agendadas',
    status: 'Status',
    media: 'Mídia',
    catalog: 'Catálogo',
    templates: 'Modelos',
  },
  empty: 'Nada espera: tudo o que foi aceito já foi enviado.',
  noScheduled: 'Nada está agendado. O formulário de envio tem um horário.',
  clear: 'Cancelar tudo',
  clearText:
    'Toda mensagem que espera falha com o motivo cancelled. A que está sendo enviada agora ainda sai.',
  waits: 'Espera por',
  typing: 'sendo digitada',
  waiting: 'sua vez',
  sendAt: 'Quando',
  statuses: {
    scheduled: 'Agendada',
    claimed: 'Sendo enviada',
    queued: 'Aceita',
    failed: 'Falhou',
    cancelled: 'Cancelada',
  },
};
