/** The network's own message, as far as we write and read it, with the names of its protobuf. */

export type WireNumber = number | string | { toNumber(): number };
type Maybe<T> = T | null | undefined;

export interface WireKey {
  remoteJid?: Maybe<string>;
  fromMe?: Maybe<boolean>;
  id?: Maybe<string>;
  participant?: Maybe<string>;
  /** The other name of the chat or sender: a phone for an anonymous id, or the reverse. Not on the wire. */
  remoteJidAlt?: Maybe<string>;
  participantAlt?: Maybe<string>;
  /** The message can be viewed once, so the network gives it to phones alone. This field is not on the wire. */
  isViewOnce?: Maybe<boolean>;
}

export interface WireContext {
  stanzaId?: Maybe<string>;
  participant?: Maybe<string>;
  remoteJid?: Maybe<string>;
  quotedMessage?: Maybe<WireMessage>;
  mentionedJid?: Maybe<string[]>;
  isForwarded?: Maybe<boolean>;
  forwardingScore?: Maybe<number>;
  /** Seconds after which messages of this chat disappear. */
  expiration?: Maybe<number>;
}

interface WithContext {
  contextInfo?: Maybe<WireContext>;
}

export interface WireText extends WithContext {
  text?: Maybe<string>;
  matchedText?: Maybe<string>;
  title?: Maybe<string>;
  description?: Maybe<string>;
  previewType?: Maybe<number>;
  backgroundArgb?: Maybe<number>;
  textArgb?: Maybe<number>;
  font?: Maybe<number>;
}

/** All kinds of media; the kind determines which fields count. */
export interface WireMedia extends WithContext {
  url?: Maybe<string>;
  directPath?: Maybe<string>;
  mimetype?: Maybe<string>;
  mediaKey?: Maybe<Uint8Array>;
  mediaKeyTimestamp?: Maybe<WireNumber>;
  fileSha256?: Maybe<Uint8Array>;
  fileEncSha256?: Maybe<Uint8Array>;
  fileLength?: Maybe<WireNumber>;
  caption?: Maybe<string>;
  width?: Maybe<number>;
  height?: Maybe<number>;
  seconds?: Maybe<number>;
  ptt?: Maybe<boolean>;
  waveform?: Maybe<Uint8Array>;
  jpegThumbnail?: Maybe<Uint8Array>;
  viewOnce?: Maybe<boolean>;
  gifPlayback?: Maybe<boolean>;
  isAnimated?: Maybe<boolean>;
  fileName?: Maybe<string>;
  title?: Maybe<string>;
}

interface WirePoll extends WithContext {
  name?: Maybe<string>;
  options?: Maybe<{ optionName?: Maybe<string> }[]>;
  selectableOptionsCount?: Maybe<number>;
}

interface WireVCard extends WithContext {
  displayName?: Maybe<string>;
  vcard?: Maybe<string>;
}

/** Sealed with the secret of another message. */
interface WireSealed {
  targetMessageKey?: Maybe<WireKey>;
  encPayload?: Maybe<Uint8Array>;
  encIv?: Maybe<Uint8Array>;
}

export interface WireTemplate {
  hydratedTitleText?: Maybe<string>;
  hydratedContentText?: Maybe<string>;
  hydratedFooterText?: Maybe<string>;
  hydratedButtons?: Maybe<
    {
      quickReplyButton?: Maybe<{ displayText?: Maybe<string>; id?: Maybe<string> }>;
      urlButton?: Maybe<{ displayText?: Maybe<string>; url?: Maybe<string> }>;
      callButton?: Maybe<{ displayText?: Maybe<string> }>;
    }[]
  >;
}

export interface WireInteractive {
  header?: Maybe<{ title?: Maybe<string> }>;
  body?: Maybe<{ text?: Maybe<string> }>;
  footer?: Maybe<{ text?: Maybe<string> }>;
  nativeFlowMessage?: Maybe<{
    buttons?: Maybe<{ name?: Maybe<string>; buttonParamsJson?: Maybe<string> }[]>;
  }>;
}

interface Wrapped {
  message?: Maybe<WireMessage>;
}

export interface WireMessage {
  conversation?: Maybe<string>;
  extendedTextMessage?: Maybe<WireText>;
  imageMessage?: Maybe<WireMedia>;
  videoMessage?: Maybe<WireMedia>;
  ptvMessage?: Maybe<WireMedia>;
  audioMessage?: Maybe<WireMedia>;
  documentMessage?: Maybe<WireMedia>;
  stickerMessage?: Maybe<WireMedia>;
  locationMessage?: Maybe<
    WithContext & {
      degreesLatitude?: Maybe<number>;
      degreesLongitude?: Maybe<number>;
      name?: Maybe<string>;
      address?: Maybe<string>;
    }
  >;
  liveLocationMessage?: Maybe<
    WithContext & {
      degreesLatitude?: Maybe<number>;
      degreesLongitude?: Maybe<number>;
      caption?: Maybe<string>;
    }
  >;
  contactMessage?: Maybe<WireVCard>;
  contactsArrayMessage?: Maybe<WithContext & { displayName?: Maybe<string>; contacts?: Maybe<WireVCard[]> }>;
  reactionMessage?: Maybe<{
    key?: Maybe<WireKey>;
    text?: Maybe<string>;
    senderTimestampMs?: Maybe<WireNumber>;
  }>;
  pollCreationMessage?: Maybe<WirePoll>;
  pollCreationMessageV2?: Maybe<WirePoll>;
  pollCreationMessageV3?: Maybe<WirePoll>;
  pollCreationMessageV5?: Maybe<WirePoll>;
  pollUpdateMessage?: Maybe<{
    pollCreationMessageKey?: Maybe<WireKey>;
    vote?: Maybe<{ encPayload?: Maybe<Uint8Array>; encIv?: Maybe<Uint8Array> }>;
    senderTimestampMs?: Maybe<WireNumber>;
  }>;
  secretEncryptedMessage?: Maybe<WireSealed & { secretEncType?: Maybe<number> }>;
  /** In announcement groups of communities. */
  encReactionMessage?: Maybe<WireSealed>;
  /** An answer there, which apps show below the message. */
  encCommentMessage?: Maybe<WireSealed>;
  eventMessage?: Maybe<
    WithContext & {
      isCanceled?: Maybe<boolean>;
      name?: Maybe<string>;
      description?: Maybe<string>;
      startTime?: Maybe<WireNumber>;
      endTime?: Maybe<WireNumber>;
      location?: Maybe<{ name?: Maybe<string> }>;
      joinLink?: Maybe<string>;
    }
  >;
  pinInChatMessage?: Maybe<{
    key?: Maybe<WireKey>;
    type?: Maybe<number>;
    senderTimestampMs?: Maybe<WireNumber>;
  }>;
  protocolMessage?: Maybe<{
    key?: Maybe<WireKey>;
    type?: Maybe<number>;
    editedMessage?: Maybe<WireMessage>;
    timestampMs?: Maybe<WireNumber>;
    ephemeralExpiration?: Maybe<number>;
  }>;
  buttonsMessage?: Maybe<{
    contentText?: Maybe<string>;
    footerText?: Maybe<string>;
    buttons?: Maybe<{ buttonId?: Maybe<string>; buttonText?: Maybe<{ displayText?: Maybe<string> }> }[]>;
  }>;
  templateMessage?: Maybe<
    WithContext & {
      hydratedTemplate?: Maybe<WireTemplate>;
      hydratedFourRowTemplate?: Maybe<WireTemplate>;
      interactiveMessageTemplate?: Maybe<WireInteractive>;
    }
  >;
  interactiveMessage?: Maybe<WithContext & WireInteractive>;
  listMessage?: Maybe<
    WithContext & {
      title?: Maybe<string>;
      description?: Maybe<string>;
      footerText?: Maybe<string>;
      sections?: Maybe<{ rows?: Maybe<{ title?: Maybe<string>; rowId?: Maybe<string> }[]> }[]>;
    }
  >;
  interactiveResponseMessage?: Maybe<
    WithContext & {
      body?: Maybe<{ text?: Maybe<string> }>;
      nativeFlowResponseMessage?: Maybe<{ name?: Maybe<string>; paramsJson?: Maybe<string> }>;
    }
  >;
  buttonsResponseMessage?: Maybe<
    WithContext & { selectedButtonId?: Maybe<string>; selectedDisplayText?: Maybe<string> }
  >;
  templateButtonReplyMessage?: Maybe<
    WithContext & { selectedId?: Maybe<string>; selectedDisplayText?: Maybe<string> }
  >;
  listResponseMessage?: Maybe<
    WithContext & { title?: Maybe<string>; singleSelectReply?: Maybe<{ selectedRowId?: Maybe<string> }> }
  >;
  orderMessage?: Maybe<WithContext & { orderId?: Maybe<string>; [field: string]: unknown }>;
  productMessage?: Maybe<
    WithContext & { product?: Maybe<{ productId?: Maybe<string>; [field: string]: unknown }> }
  >;
  messageContextInfo?: Maybe<{
    messageSecret?: Maybe<Uint8Array>;
    messageAddOnDurationInSecs?: Maybe<number>;
    /** How it belongs to another message. */
    messageAssociation?: Maybe<{ associationType?: Maybe<number> }>;
  }>;
  viewOnceMessage?: Maybe<Wrapped>;
  viewOnceMessageV2?: Maybe<Wrapped>;
  viewOnceMessageV2Extension?: Maybe<Wrapped>;
  documentWithCaptionMessage?: Maybe<Wrapped>;
  ephemeralMessage?: Maybe<Wrapped>;
  editedMessage?: Maybe<Wrapped>;
  associatedChildMessage?: Maybe<Wrapped>;
  lottieStickerMessage?: Maybe<Wrapped>;
  groupMentionedMessage?: Maybe<Wrapped>;
  botInvokeMessage?: Maybe<Wrapped>;
  botForwardedMessage?: Maybe<Wrapped>;
  pollCreationMessageV4?: Maybe<Wrapped>;
  pollCreationOptionImageMessage?: Maybe<Wrapped>;
  eventCoverImage?: Maybe<Wrapped>;
  groupStatusMessage?: Maybe<Wrapped>;
  groupStatusMessageV2?: Maybe<Wrapped>;
  limitSharingMessage?: Maybe<Wrapped>;
  questionMessage?: Maybe<Wrapped>;
  questionReplyMessage?: Maybe<Wrapped>;
  /** Announces a number of pictures and videos that follow. */
  albumMessage?: Maybe<WithContext>;
  deviceSentMessage?: Maybe<Wrapped>;
  senderKeyDistributionMessage?: unknown;
  /** Stands for a kind that the library does not know; see `newer-kinds.ts`. This field is not on the wire. */
  newerMessage?: object;
}

/** `ProtocolMessage.Type` of the network. */
export const PROTOCOL = { revoke: 0, timer: 3, edit: 14 } as const;
/** `SecretEncryptedMessage.SecretEncType` of new words for a message. */
export const SEALED_EDIT = 2;
/** `MessageAssociation.AssociationType` of files that apps show in place of that of another message, or within it. */
export const SAME_MEDIA = { hdVideo: 5, hdImage: 10, motionPhoto: 12, hevcVideo: 19 } as const;
