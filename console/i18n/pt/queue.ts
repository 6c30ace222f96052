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
  empty: 'A fila está vazia: toda mensagem aceita já foi enviada.',
  noScheduled: 'Nada está agendado. Para agendar uma mensagem, escolha o horário no formulário de envio.',
  clear: 'Cancelar tudo',
  clearText:
    'Toda mensagem que espera falha com o motivo cancelled. A que está sendo enviada agora ainda sai.',
  cancelText: 'Esta mensagem falha com o motivo cancelled: {{thing}}',
  cancelScheduledText: 'Esta mensagem não será enviada: {{thing}}',
  typing: 'Digitando por mais {{time}}',
  waiting: 'Espera a vez',
  sendAt: 'Quando',
  statuses: {
    scheduled: 'Agendada',
    claimed: 'Sendo enviada',
    queued: 'Aceita',
    failed: 'Falhou',
    cancelled: 'Cancelada',
  },
};
