import { Group, Menu } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useRouter } from '@tanstack/react-router';
import { type ComponentProps, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { textOfMessage } from '../../api/message-status.tsx';
import { useIsOfficial } from '../../api/official.ts';
import { ConfirmDialog } from '../../components/confirm-button.tsx';
import { nameFor, shortText } from '../../components/row-button.tsx';
import type { BubbleProps } from './bubble-props.ts';

const EMOJIS = ['👍', '❤️', '😂', '😮', '😢', '🙏'] as const;
/** Types whose text can be edited; the service checks whether it is too late. */
const EDITABLE: readonly string[] = ['text', 'image', 'video', 'document'];

/**
 * The menu of actions for one message. It is made at its first use: drawing a closed menu takes longer than the rest of
 * its bubble, and a conversation has hundreds.
 */
export function BubbleMenu(props: BubbleProps) {
  const [isUsed, setUsed] = useState(false);
  if (isUsed) return <UsedMenu {...props} />;
  return <MenuButton message={props.message} aria-haspopup="menu" onClick={() => setUsed(true)} />;
}

function MenuButton({ message, ...props }: Pick<BubbleProps, 'message'> & ComponentProps<'button'>) {
  const { t } = useTranslation();
  return (
    <button
      {...props}
      type="button"
      className="menu-button mantine-focus-auto"
      aria-label={nameFor(
        t('chats.actions.label'),
        shortText(textOfMessage(message) || message.message_type),
      )}
    >
      ⋯
    </button>
  );
}

/** The menu, which opens when it is first drawn. */
function UsedMenu({ message, act, onQuote, onEdit }: BubbleProps) {
  const { t } = useTranslation();
  const { message_id: messageId, instance_id: instanceId } = message;
  const isOwn = message.direction === 'outbound';
  const isThere = !message.deleted_at && message.status !== 'failed' && message.status !== 'queued';
  // Official numbers can take nothing back.
  const mayChange = !useIsOfficial(instanceId) && isThere && isOwn;
  const router = useRouter();
  const [isAsked, { open: ask, close }] = useDisclosure(false);
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    // This button replaces the one that was used. A menu gives the focus back to what had it.
    button.current?.focus({ preventScroll: true });
    setOpen(true);
  }, []);
  return (
    <>
      <Menu position={isOwn ? 'bottom-end' : 'bottom-start'} width={220} opened={isOpen} onChange={setOpen}>
        <Menu.Target>
          <MenuButton message={message} ref={button} />
        </Menu.Target>
        <Menu.Dropdown>
          {isThere && (
            <>
              <Group gap={2} justify="center" wrap="nowrap">
                {EMOJIS.map((emoji) => (
                  <Menu.Item
                    key={emoji}
                    p={4}
                    aria-label={t('chats.actions.react', { emoji })}
                    // While it fades away it still takes a second click.
                    onClick={() => isOpen && act({ what: 'react', messageId, emoji })}
                  >
                    {emoji}
                  </Menu.Item>
                ))}
              </Group>
              <Menu.Item onClick={() => onQuote(message)}>{t('chats.actions.reply')}</Menu.Item>
            </>
          )}
          {mayChange && EDITABLE.includes(message.message_type) && (
            <Menu.Item onClick={() => onEdit(message)}>{t('chats.actions.edit')}</Menu.Item>
          )}
          {mayChange && (
            <Menu.Item c="var(--mantine-color-error)" onClick={ask}>
              {t('chats.actions.delete')}
            </Menu.Item>
          )}
          <Menu.Item
            onClick={() =>
              void router.navigate({
                to: '/instances/$instanceId/messages/$messageId',
                params: { instanceId, messageId },
              })
            }
          >
            {t('chats.actions.open')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <ConfirmDialog
        label={t('chats.actions.delete')}
        text={t('chats.actions.deleteText')}
        opened={isAsked}
        onClose={close}
        onConfirm={() => act({ what: 'delete', messageId })}
      />
    </>
  );
}
