/** Values that the examples of documents share, so that one thing looks the same in all of them. */
export const TIME = '2026-01-31T12:00:00.000Z';
export const LATER = '2026-01-31T13:00:00.000Z';
/**
 * A future time. A served document shows one that is a week ahead instead: a send can be scheduled at most one year
 * ahead.
 */
export const AHEAD = '2030-01-01T10:00:00Z';
/** Unix seconds of {@link TIME}. */
export const UNIX_S = 1_769_860_800;
export const INSTANCE_ID = '0198c0de-0000-7000-8000-0000000000a1';
export const MESSAGE_ID = '0198c0de-0000-7000-8000-000000000001';
export const TASK_ID = '0198c0de-0000-7000-8000-0000000000b1';
export const EVENT_ID = '0198c0de-0000-7000-8000-0000000000e1';
export const MEDIA_ID = '3f6c2a52-7c1e-4b0a-9d5e-2f8f4c6a1b2d';
export const TRACE_ID = '9b2f1c9e-2c55-4c1b-8a54-5d3a6d0f7e11';
/** A message's id on the network. */
export const NETWORK_ID = '3EB0A1B2C3D4E5F60718';
export const PHONE = '+5511999990000';
export const DIGITS = '5511999990000';
export const JID = '5511999990000@s.whatsapp.net';
export const OWN_DIGITS = '5511988880000';
export const OWN_JID = '5511988880000@s.whatsapp.net';
export const API_KEY = `svc_${'0123456789abcdef'.repeat(4)}`;
export const JWT = 'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI3In0.c2lnbmF0dXJl';
export const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
export const HOOK_URL = 'https://hooks.example.com/posthorn';
