import type { Translations } from '../translations.ts';

export const home: Translations['home'] = {
  title: 'Início',
  all: 'Ver tudo',
  first: {
    title: 'Primeiros passos',
    done: 'feito',
    connect: 'Conectar um telefone',
    send: 'Enviar uma mensagem',
    receive: 'Receber uma mensagem: escreva para o telefone que você conectou',
    connectButton: 'Criar uma instância',
    pairButton: 'Parear o telefone',
    sendButton: 'Enviar uma mensagem',
    receiveButton: 'Abrir as conversas',
  },
  messages: {
    title: 'Mensagens das últimas 24 horas',
    sent: 'Enviadas',
    received: 'Recebidas',
    failed: 'Falharam',
  },
  instances: 'Instâncias por estado',
  webhooks: {
    title: 'Webhooks, últimas 24 horas',
    none: 'Nada foi entregue.',
    share: '{{successes, number}} de {{total, number}} entregues',
  },
  plan: {
    title: 'Uso do plano',
    instances: 'Instâncias',
    users: 'Pessoas',
    webhooks: 'Webhooks',
    storage: 'Mídia guardada',
    requests: '{{count, number}} pedidos por minuto',
  },
};
