import { defineCommand, required, text } from '../../command.ts';
import { UsageError } from '../../fault.ts';
import { fields } from '../../format.ts';

export const sandboxPair = defineCommand({
  name: 'sandbox pair',
  summary: 'Scan a QR, or type a pairing code, on a virtual phone',
  details: 'msgctl pair reads the QR and scans it in one step.',
  flags: {
    phone: required(text('phone', 'its number')),
    qr: text('text', 'the text of the QR, from msgctl instances qr'),
    code: text('code', 'the code, from msgctl instances pairing-code'),
  },
  async run(context, { phone, qr, code }) {
    if ((qr === undefined) === (code === undefined)) throw new UsageError('give either --qr or --code');
    const body = { phone, ...(qr === undefined ? { code } : { qr }) };
    const paired = await context.sandbox().call({ method: 'POST', path: '/pair', body });
    context.out.show(paired, fields(paired));
  },
});
