import { defineCommand, required, text } from '../command.ts';
import { UsageError } from '../fault.ts';
import { table } from '../format.ts';
import { didYouMean } from '../similar.ts';

export const listProfiles = defineCommand({
  name: 'profiles list',
  summary: 'List the profiles, and which one commands use',
  isDefault: true,
  async run(context) {
    const data = context.profile.names().map((name) => ({
      name,
      is_current: name === context.profile.name,
    }));
    context.out.show({ data }, table(data, ['name', 'is_current'], 'no profiles'));
  },
});

export const useProfile = defineCommand({
  name: 'profiles use',
  summary: 'Choose the profile that commands use when none is named',
  args: { name: required(text('name', 'the profile')) },
  async run(context, { name }) {
    const names = context.profile.names();
    if (!names.includes(name)) throw new UsageError(`there is no profile ${name}${didYouMean(name, names)}`);
    context.profile.choose(name);
    context.out.show({ name }, `commands use the profile ${name}`);
  },
});

export const removeProfile = defineCommand({
  name: 'profiles remove',
  summary: 'Forget a profile with its keys and logins',
  destroys: 'This forgets the keys of the profile',
  args: { name: required(text('name', 'the profile')) },
  async run(context, { name }) {
    const names = context.profile.names();
    if (!names.includes(name)) throw new UsageError(`there is no profile ${name}${didYouMean(name, names)}`);
    context.profile.remove(name);
    context.out.show({ name, removed: true }, `forgot the profile ${name}`);
  },
});
