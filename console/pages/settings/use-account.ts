import { useMutation } from '@tanstack/react-query';
import { useAuth } from '../../api/api-context.ts';

/** The changes that users may make to their own account. New credentials end all sessions, so users sign in again. */
export function useAccount() {
  const { client, renew, forget } = useAuth();
  const rename = useMutation({
    mutationFn: async (body: { name?: string; company_name?: string }) => {
      await client.auth.updateMe({ body });
      await renew();
    },
  });
  const changePassword = useMutation({
    mutationFn: (body: { current_password: string; new_password: string }) =>
      client.auth.changePassword({ body }),
    onSuccess: forget,
  });
  const startEmail = useMutation({
    mutationFn: (body: { new_email: string; current_password: string }) =>
      client.auth.startEmailChange({ body }),
  });
  const confirmEmail = useMutation({
    mutationFn: (code: string) => client.auth.confirmEmailChange({ body: { code: code.trim() } }),
    onSuccess: forget,
  });
  const remove = useMutation({
    mutationFn: (current_password: string) => client.auth.deleteAccount({ body: { current_password } }),
    onSuccess: forget,
  });
  return { rename, changePassword, startEmail, confirmEmail, remove };
}
