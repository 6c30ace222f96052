import type { Translations } from '../translations.ts';

export const playground: Translations['playground'] = {
  title: 'Área de testes',
  text: 'Mande para um telefone simulado e veja chegar. Nada das suas instâncias e do seu plano é usado.',
  left: 'Restam {{remaining}} de {{limit}} envios hoje.',
  off: 'Esta instalação não oferece a área de testes.',
  phone: 'Telefone simulado',
  nothing: 'O que você mandar chega aqui.',
  onItsWay: 'A caminho …',
};
