export const media = {
  title: 'Media',
  kinds: { all: 'All', image: 'Pictures', video: 'Videos', audio: 'Audio', file: 'Documents' },
  empty: 'No file of this kind is stored. Upload one, or receive one.',
  upload: 'Upload a file',
  uploadText: 'Pictures, videos, audio and PDF up to 64 MB. Uploads are kept for 7 days.',
  submit: 'Upload',
  stored: 'The file is stored.',
  send: 'Send it',
  remove: 'Delete',
  removeText: 'Nobody can fetch {{name}} any more. Messages that were sent with it stay on the phones.',
};
