// The program of the page. The key stays in this page's memory: an API key must never be part of a page that others
// load. Pages for your users log in with createSession instead.
import { createClient } from '@posthorn/sdk';

const ROWS_MAX = 200;
const byId = (id) => document.getElementById(id);
let leaving = new AbortController();

byId('login').addEventListener('submit', (submitted) => {
  submitted.preventDefault();
  // A second login ends the stream of the first one.
  leaving.abort();
  leaving = new AbortController();
  tail(byId('url').value, byId('key').value, leaving.signal);
});

async function tail(baseUrl, apiKey, signal) {
  const client = createClient({ baseUrl, apiKey });
  show('connecting');
  try {
    // The loop survives broken connections: the client reconnects and continues after the last event that it saw.
    const events = client.events.stream({
      signal,
      onOpen: () => show('connected'),
      onReconnect: ({ delayMs }) => show(`connection lost, trying again in ${Math.ceil(delayMs / 1000)} s`),
      onReset: () => show('connected; some events are older than what the service keeps, and were missed'),
    });
    for await (const event of events) add(event);
  } catch (error) {
    if (!signal.aborted) show(`${error.code ?? error.name}: ${error.message}`);
  }
}

function show(text) {
  byId('state').textContent = text;
}

function add(event) {
  const row = document.createElement('tr');
  const cells = [
    new Date(event.created_at).toLocaleTimeString(),
    event.type,
    event.data.phone ?? '',
    event.data.content?.text ?? '',
  ];
  for (const cell of cells) {
    // As text, never as HTML, because strangers write the messages.
    row.insertCell().textContent = cell;
  }
  const rows = byId('events');
  rows.prepend(row);
  if (rows.rows.length > ROWS_MAX) rows.deleteRow(-1);
}
