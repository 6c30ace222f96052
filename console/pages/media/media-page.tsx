import { FileInput, NativeSelect, SimpleGrid, Stack } from '@mantine/core';
import { useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ApiError } from '../../api/api-error.tsx';
import { ChosenInstance } from '../../api/chosen-instance.tsx';
import { FormCard } from '../../api/form-card.tsx';
import { MessageTabs } from '../../api/message-tabs.tsx';
import { Shown } from '../../api/shown.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { MoreButton } from '../../components/more-button.tsx';
import { Page } from '../../components/page.tsx';
import { MediaCard } from './media-card.tsx';
import { useMedia } from './use-media.ts';

const KINDS = { all: '', image: 'image/', video: 'video/', audio: 'audio/', file: 'application/' } as const;
type Kind = keyof typeof KINDS;

/** Files that are stored for an instance: uploaded, received, or fetched for a send. */
export function MediaPage() {
  const { t } = useTranslation();
  const { instance } = useSearch({ from: '/signed-in/shell/messages/media' });
  return (
    <Page title={t('media.title')}>
      <ChosenInstance instance={instance} to="/messages/media">
        {instance && (
          <MessageTabs instance={instance} view="media">
            <Library key={instance} instanceId={instance} />
          </MessageTabs>
        )}
      </ChosenInstance>
    </Page>
  );
}

function Library({ instanceId }: { instanceId: string }) {
  const { t } = useTranslation();
  const [kind, setKind] = useState<Kind>('all');
  const { list, upload, remove } = useMedia(instanceId, KINDS[kind]);
  return (
    <Stack>
      <Upload upload={upload} />
      <NativeSelect
        label={t('messages.type')}
        maw={420}
        value={kind}
        data={(Object.keys(KINDS) as Kind[]).map((value) => ({ value, label: t(`media.kinds.${value}`) }))}
        onChange={(event) => setKind(event.target.value as Kind)}
      />
      {remove.error && <ApiError error={remove.error} />}
      <Shown query={list}>
        {(files) =>
          files.length === 0 ? (
            <EmptyState text={t('media.empty')} />
          ) : (
            <>
              <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
                {files.map((file) => (
                  <MediaCard key={file.id} file={file} onRemove={() => remove.mutate(file.id)} />
                ))}
              </SimpleGrid>
              <MoreButton list={list} />
            </>
          )
        }
      </Shown>
    </Stack>
  );
}

function Upload({ upload }: Pick<ReturnType<typeof useMedia>, 'upload'>) {
  const { t } = useTranslation();
  const [file, setFile] = useState<File | null>(null);
  return (
    <FormCard
      title={t('media.upload')}
      text={t('media.uploadText')}
      label={t('media.submit')}
      mutation={upload}
      done={upload.isSuccess && t('media.stored')}
      onSubmit={() => file && upload.mutate(file, { onSuccess: () => setFile(null) })}
    >
      <FileInput
        label={t('messages.form.file')}
        placeholder={t('messages.form.chooseFile')}
        maw={420}
        required
        value={file}
        onChange={setFile}
      />
    </FormCard>
  );
}
