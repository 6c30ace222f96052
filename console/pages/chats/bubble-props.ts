import type { Message } from '@posthorn/sdk/index.ts';
import type { MessageAct } from './use-composer.ts';

/** A message of a conversation, and its actions. */
export interface BubbleProps {
  message: Message;
  reactions: string;
  quoted: Message | undefined;
  act: (act: MessageAct) => void;
  onQuote: (message: Message) => void;
  onEdit: (message: Message) => void;
}
