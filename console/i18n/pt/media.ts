import type { Translations } from '../translations.ts';

export const media: Translations['media'] = {
  title: 'Mídia',
  kinds: { all: 'Tudo', image: 'Imagens', video: 'Vídeos', audio: 'Áudio', file: 'Documentos' },
  empty: 'Nenhum arquivo deste tipo está guardado. Envie um ou receba um.',
  upload: 'Enviar um arquivo',
  uploadText: 'Imagens, vídeos, áudio e PDF até 64 MB. Os envios ficam guardados por 7 dias.',
  submit: 'Enviar',
  stored: 'O arquivo está guardado.',
  send: 'Mandar',
  remove: 'Excluir',
  removeText: 'Ninguém mais pode buscar {{name}}. As mensagens enviadas com ele ficam nos telefones.',
};
