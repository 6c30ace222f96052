import { defineCommand, required, text } from '../../command.ts';
import { fields } from '../../format.ts';

const contact = {
  name: text('name', 'legal name'),
  tradeName: text('name', 'trade name'),
  email: text('address', 'address for invoices'),
  phone: text('number', 'phone'),
};

export const createProfile = defineCommand({
  name: 'billing profile create',
  endpoints: ['billing.profile.create'],
  summary: 'Create the billing profile; the document cannot be changed afterwards',
  flags: {
    ...contact,
    name: required(contact.name),
    cpf: text('number', 'the CPF of a person'),
    cnpj: text('number', 'or the CNPJ of a company'),
  },
  async run(context, { cpf, cnpj, name, tradeName, email, phone }) {
    const profile = await context.billing().profile.create({
      body: {
        document_type: cnpj === undefined ? 'cpf' : 'cnpj',
        document_number: cnpj ?? cpf ?? '',
        legal_name: name,
        trade_name: tradeName,
        email,
        phone,
      },
    });
    context.out.show(profile, fields(profile));
  },
});

export const updateProfile = defineCommand({
  name: 'billing profile update',
  endpoints: ['billing.profile.update'],
  summary: 'Change names, e-mail and phone of the billing profile',
  flags: contact,
  async run(context, { name, tradeName, email, phone }) {
    const profile = await context.billing().profile.update({
      body: { legal_name: name, trade_name: tradeName, email, phone },
    });
    context.out.show(profile, fields(profile));
  },
});
