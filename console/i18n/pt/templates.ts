import type { Translations } from '../translations.ts';

export const templates: Translations['templates'] = {
  title: 'Modelos',
  empty:
    'Ainda não há modelo. Conversas em que ninguém escreveu nas últimas 24 horas não recebem outra coisa.',
  lacks: 'A rede desta instância não tem modelos.',
  category: 'Categoria',
  language: 'Idioma',
  text: 'Texto',
  textHint: 'Os espaços são {{first}}, {{second}} ou têm nomes.',
  example: 'Exemplo de {{word}}',
  new: 'Novo modelo',
  newText: 'A Meta o analisa, de minutos a um dia. Ele pode ser enviado depois de aprovado.',
  nameHint: 'Letras minúsculas, dígitos e _',
  submit: 'Entregar à Meta',
  given: '{{name}} está com a Meta.',
  remove: 'Excluir',
  removeText:
    '{{name}} ({{of}}) não poderá mais ser enviado, e a Meta não aceita o nome para outro por algumas semanas.',
  categories: { UTILITY: 'Utilidade', MARKETING: 'Marketing', AUTHENTICATION: 'Autenticação' },
  states: {
    APPROVED: 'Aprovado',
    PENDING: 'Em análise',
    IN_APPEAL: 'Em recurso',
    PAUSED: 'Pausado',
    LIMIT_EXCEEDED: 'Em excesso',
    REJECTED: 'Recusado',
    DISABLED: 'Desativado',
    PENDING_DELETION: 'Sendo excluído',
  },
};
