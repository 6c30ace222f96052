import { Button, Group, Modal, Stack, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useTranslation } from 'react-i18next';
import { nameFor } from './row-button.tsx';

/** A button for an action that cannot be undone, or costs money: it says what will happen and asks once. */
export function ConfirmButton(props: {
  label: string;
  text: string;
  busy: boolean;
  /** The thing that it is for, where there is one such button for each of several. */
  thing?: string;
  /** Small enough for the row of a table. */
  isInRow?: boolean;
  /** It destroys nothing. */
  isSafe?: boolean;
  onConfirm: () => void;
}) {
  const [opened, { open, close }] = useDisclosure(false);
  return (
    <>
      <Button
        variant="default"
        size={props.isInRow ? 'compact-xs' : 'sm'}
        onClick={open}
        aria-label={props.thing === undefined ? undefined : nameFor(props.label, props.thing)}
        loading={props.busy}
      >
        {props.label}
      </Button>
      <ConfirmDialog {...props} opened={opened} onClose={close} />
    </>
  );
}

/** The dialog without a button, for actions that another control starts. */
export function ConfirmDialog(props: {
  label: string;
  text: string;
  isSafe?: boolean;
  opened: boolean;
  onClose: () => void;
  onConfirm: () => void;
}) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={props.opened}
      onClose={props.onClose}
      title={props.label}
      centered
      closeButtonProps={{ 'aria-label': t('common.actions.back') }}
    >
      <Stack>
        <Text size="sm">{props.text}</Text>
        <Group justify="flex-end">
          <Button variant="default" onClick={props.onClose}>
            {t('common.actions.leave')}
          </Button>
          <Button
            {...(!props.isSafe && { color: 'red' })}
            onClick={() => {
              // While it fades away it still takes a second click.
              if (!props.opened) return;
              props.onClose();
              props.onConfirm();
            }}
          >
            {props.label}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
