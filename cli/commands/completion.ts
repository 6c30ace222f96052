import { defineCommand, oneOf, required } from '../command.ts';
import { completionScript, SHELLS } from '../completion/scripts.ts';
import { placesOf } from '../completion/tree.ts';

export const completion = defineCommand({
  name: 'completion',
  summary: 'Print a script that completes commands and flags in a shell',
  details:
    'bash: msgctl completion bash > ~/.local/share/bash-completion/completions/msgctl\nzsh: msgctl completion zsh > _msgctl, in a folder of $fpath\nfish: msgctl completion fish > ~/.config/fish/completions/msgctl.fish',
  args: { shell: required(oneOf('shell', SHELLS, 'the shell')) },
  async run(context, { shell }) {
    context.out.raw(Buffer.from(completionScript(shell, placesOf(context.commandTree()))));
  },
});
