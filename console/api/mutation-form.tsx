import type { ReactNode } from 'react';
import { SubmitForm } from '../components/submit-form.tsx';
import { ApiError } from './api-error.tsx';

/** A form that runs a mutation: busy while it runs, with an error above the button. */
export function MutationForm(props: {
  label: string;
  mutation: { isPending: boolean; error: unknown };
  onSubmit: () => void;
  /** A further text for its error. */
  hint?: string | undefined;
  fullWidth?: boolean;
  isDanger?: boolean;
  isMinor?: boolean;
  children?: ReactNode;
}) {
  const { mutation, hint } = props;
  return (
    <SubmitForm
      label={props.label}
      busy={mutation.isPending}
      onSubmit={props.onSubmit}
      fullWidth={props.fullWidth ?? false}
      isDanger={props.isDanger}
      isMinor={props.isMinor}
      error={mutation.error ? <ApiError error={mutation.error} {...(hint ? { hint } : {})} /> : null}
    >
      {props.children}
    </SubmitForm>
  );
}
