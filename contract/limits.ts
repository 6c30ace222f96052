/** Every limit a user can meet. One that is tagged `@planned` belongs to what is not built yet. */

const MINUTE_S = 60;
const DAY_S = 86_400;

// Limits that users are promised
export const DEFAULT_REQUESTS_PER_MINUTE = 60;
export const MEDIA_MAX_BYTES = 64 * 1024 * 1024;
/** Default of the setting HTTP_TIMEOUT. */
export const MEDIA_FETCH_TIMEOUT_S = 30;
export const MEDIA_RETENTION_DAYS = 7;
export const URL_CACHE_DAYS = 7;
export const CONTACTS_PER_SEND_MAX = 50;
export const VCARD_MAX_BYTES = 8 * 1024;
export const LABELS_MAX = 20;
export const LABEL_COLOR_MAX = 19;
export const NOTE_MAX_CHARS = 8192;
export const POLL_OPTIONS_MIN = 2;
/** As many as the networks show. */
export const POLL_OPTIONS_MAX = 12;
export const TEMPLATE_BUTTONS_MAX = 3;
export const EDIT_WINDOW_S = 15 * MINUTE_S;
export const DUPLICATE_CONTENT_WINDOW_S = DAY_S;
export const PASSWORD_MIN_CHARS = 12;
/** At `PATCH /v1/auth/me/password` only. */
export const PASSWORD_CHANGE_MIN_CHARS = 8;
export const NAME_MAX_CHARS = 255;
export const LOGIN_FAILURES_MAX = 5;
/** Wrong current passwords that a session may send in the time of LOGIN_LOCKOUT_S. */
export const CURRENT_PASSWORD_FAILURES_MAX = 10;
export const LOGIN_LOCKOUT_S = 15 * MINUTE_S;
export const JWT_LIFETIME_S = 15 * MINUTE_S;
export const EMAIL_CODE_LIFETIME_S = 30 * MINUTE_S;
export const EMAIL_CODE_ATTEMPTS_MAX = 5;
export const EMAIL_CODE_COOLDOWN_S = 60;
/** Default of the setting PASSWORD_RESET_TTL. */
export const PASSWORD_RESET_LIFETIME_MINUTES = 30;
export const ACCOUNT_RETENTION_DAYS = 30;
export const CATALOG_LIMIT = { default: 10, max: 100 } as const;
export const COLLECTIONS_LIMIT = { default: 51, max: 100 } as const;
export const STATUS_FEED_LIMIT = { default: 50, max: 100 } as const;
export const MEDIA_LIST_LIMIT = { default: 50, max: 100 } as const;
export const WEBHOOK_HOURS = { default: 24, max: 168 } as const;
export const WEBHOOK_EVENTS_LIMIT = { default: 50, max: 200 } as const;
export const DELIVERY_LOGS_LIMIT = { default: 20, max: 100 } as const;
export const COMPANY_DELIVERY_LOGS_LIMIT = { default: 50, max: 100 } as const;
export const WEBHOOK_PAYLOAD_RETENTION_DAYS = 14;
export const HARD_FAIL_ATTEMPTS = 3;
export const BILLING_TRIAL_DAYS = 30;
export const BILLING_GRACE_DAYS = 3;
/** Cards that a company keeps at a time. */
export const CARDS_MAX = 50;
/** How far a company's clock at the simulated provider may be ahead: ten years. */
export const SIMULATED_CLOCK_MAX_S = 10 * 366 * 86_400;
export const CHARGES_LIMIT = { default: 50, max: 200 } as const;
export const INSTANCE_NAME_MIN_CHARS = 3;
export const INSTANCE_NAME_MAX_CHARS = 80;

// Limits of keys, retries, tickets and synchronous actions
export const IDEMPOTENCY_KEY_LIFETIME_S = 72 * 3600;
export const RETRY_BULK_MAX = 500;
export const WEBHOOK_RESPONSE_STORED_MAX_BYTES = 4096;
export const EVENTS_TICKET_LIFETIME_S = 60;
export const SYNC_ACTION_TIMEOUT_MS = 15_000;

/** The largest body that Meta posts. */
export const RAW_BODY_MAX_BYTES = 3 * 1024 * 1024;
/** Posts of Meta that wait for one instance: some 85,000 of the usual size. */
export const INBOX_MAX_BYTES = 128 * 1024 * 1024;

// Bounds that keep what a request may cost known in advance
export const SCHEDULE_AHEAD_MAX_DAYS = 366;
/** Maximum scheduled sends of a company that are neither sent, refused nor cancelled. */
export const SCHEDULED_WAITING_MAX = 10_000;
export const TEXT_MAX_CHARS = 65_536;
/** Names, titles, addresses and the like. */
export const FIELD_MAX_CHARS = 1024;
export const FEEDBACK_MAX_CHARS = 4000;
export const IDEMPOTENCY_KEY_MAX_CHARS = 255;
export const MENTIONS_MAX = 1024;
export const NETWORK_ID_MAX_CHARS = 128;
export const EMAIL_MAX_CHARS = 254;
/** Keeps the cost of hashing what a stranger sends bounded. */
export const PASSWORD_MAX_CHARS = 256;
export const URL_MAX_CHARS = 2048;
export const WEBHOOK_PATTERNS_MAX = 100;
export const WEBHOOK_HEADERS_MAX = 20;
export const WEBHOOK_HEADER_VALUE_MAX_CHARS = 1024;
/** JSON bodies that carry no media, and all text fields of a form together. */
export const JSON_BODY_MAX_BYTES = 1024 * 1024;
/** Objects and lists inside each other; no body that the contract knows has more than 5. */
export const JSON_DEPTH_MAX = 64;
/** Fields of all objects of a JSON body together; the longest list of contacts has 150. */
export const JSON_FIELDS_MAX = 10_000;
/** Text fields of a form: mentions may come one by one. */
export const FORM_FIELDS_MAX = MENTIONS_MAX + 64;
/** Fields of the body of a scheduled send, those that it does not know included. */
export const SCHEDULED_FIELDS_MAX = 100;
/** How often a query may repeat one parameter. */
export const QUERY_REPEATS_MAX = 100;
/** A chat rarely has more notes than one page shows. */
export const NOTES_LIMIT = { default: 1000, max: 1000 } as const;
export const CONTACTS_CHECK_MAX = 50;
/** Maximum size of a media_url in the playground, which everybody shares. */
export const PLAYGROUND_MEDIA_MAX_BYTES = 1024 * 1024;
export const CURSOR_MAX_CHARS = 2048;
/** As the networks have it. */
export const GROUP_NAME_MAX_CHARS = 100;
export const GROUP_DESCRIPTION_MAX_CHARS = 2048;
export const ABOUT_MAX_CHARS = 139;
export const PICTURE_MAX_BYTES = 2 * 1024 * 1024;
/** In each list of a request. */
export const GROUP_PARTICIPANTS_PER_REQUEST_MAX = 256;
/** The largest id that a column of the type `integer` holds. */
export const INTEGER_ID_MAX = 2_147_483_647;
/** Maximum size of the rows of one page of any list; a page has at least one row. */
export const LIST_PAGE_MAX_BYTES = 1024 * 1024;
/** Instances that the usage of a company names. */
export const USAGE_INSTANCES_MAX = 1000;
export const LIST_LIMIT = { default: 50, max: 200 } as const;

/** How long the Cloud API takes what is not an approved template, from the last message of the other side. */
export const CONVERSATION_WINDOW_S = 24 * 3600;
/** Limits of an approved template that is sent: its components, the parameters of one component, and the cards of a carousel. */
export const TEMPLATE_COMPONENTS_MAX = 16;
export const TEMPLATE_PARAMETERS_MAX = 64;
export const TEMPLATE_CARDS_MAX = 10;
/** Limits of lists and of buttons with a link, in characters: Meta accepts longer ones and refuses them only later. */
export const INTERACTIVE_BODY_MAX_CHARS = 1024;
export const INTERACTIVE_LINE_MAX_CHARS = 60;
export const INTERACTIVE_BUTTON_MAX_CHARS = 20;
export const LIST_ROWS_MAX = 10;
export const LIST_TITLE_MAX_CHARS = 24;
export const LIST_DESCRIPTION_MAX_CHARS = 72;
export const LIST_ROW_ID_MAX_CHARS = 200;
/** Limits of a template that is submitted to Meta for approval. */
export const TEMPLATE_REVIEW_BUTTONS_MAX = 10;
export const TEMPLATE_APPS_MAX = 5;
export const TEMPLATE_BODY_MAX_CHARS = 1024;
export const TEMPLATE_EXAMPLES_MAX = 64;
/** Templates of one page. */
export const TEMPLATES_LIMIT = { default: 50, max: 100 } as const;
