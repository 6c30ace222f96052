import type { Translations } from '../translations.ts';

export const admin: Translations['admin'] = {
  title: 'Administração',
  tabs: {
    companies: 'Empresas',
    instances: 'Instâncias',
    events: 'Eventos do provedor',
    feedback: 'Opiniões',
  },
  states: {
    active: 'Ativa',
    suspended: 'Suspensa',
    deleted: 'Excluída',
    pending: 'Pendente',
    processed: 'Processado',
    ignored: 'Ignorado',
    failed: 'Falhou',
    open: 'Aberto',
    done: 'Concluído',
  },
  kinds: { bug: 'Erro', idea: 'Ideia', question: 'Pergunta', praise: 'Elogio' },
  empty: 'Ainda não há nada aqui.',
  people: 'Pessoas',
  suspend: 'Suspender',
  suspendText: 'Todas as pessoas e todas as chaves de {{name}} são recusadas na hora.',
  reactivate: 'Reativar',
  reprocess: 'Processar de novo',
  feedback: 'Opinião',
  markDone: 'Marcar como feito',
  markOpen: 'Reabrir',
};
