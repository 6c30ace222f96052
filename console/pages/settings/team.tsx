import { NativeSelect, Stack, TextInput } from '@mantine/core';
import type { User } from '@posthorn/sdk/index.ts';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useUser } from '../../api/api-context.ts';
import { ApiError } from '../../api/api-error.tsx';
import { FormCard } from '../../api/form-card.tsx';
import { Shown } from '../../api/shown.tsx';
import { ConfirmButton } from '../../components/confirm-button.tsx';
import { Cell, Row, RowTable } from '../../components/row-table.tsx';
import { StateBadge } from '../../components/state-badge.tsx';
import { type GivenRole, ROLES, useTeam } from './use-team.ts';

export function Team() {
  const { t } = useTranslation();
  const { team, invite, change, remove } = useTeam();
  const error = change.error ?? remove.error;
  return (
    <Stack>
      {error && <ApiError error={error} />}
      <Shown query={team}>
        {(people) => (
          <RowTable
            head={[
              t('common.fields.name'),
              t('session.email'),
              t('settings.team.role'),
              t('common.fields.state'),
              '',
            ]}
          >
            {people.map((person) => (
              <Person
                key={person.id}
                person={person}
                onRole={(role) => change.mutate({ id: person.id, role })}
                onRemove={() => remove.mutate(person.id)}
              />
            ))}
          </RowTable>
        )}
      </Shown>
      <Invite invite={invite} />
    </Stack>
  );
}

function Person(props: { person: User; onRole: (role: GivenRole) => void; onRemove: () => void }) {
  const { t } = useTranslation();
  const { person } = props;
  const isSelf = useUser().user_id === person.id;
  const isActive = person.status === 'active';
  return (
    <Row>
      <Cell className="foreign">{person.name}</Cell>
      <Cell className="foreign" style={{ minWidth: '14rem' }}>
        {person.email}
      </Cell>
      <Cell>
        {isSelf ? (
          t(`settings.roles.${person.role as GivenRole}`, person.role)
        ) : (
          <NativeSelect
            size="xs"
            miw="8rem"
            aria-label={t('settings.team.roleOf', { name: person.name })}
            value={person.role}
            data={person.role === 'superadmin' ? ['superadmin'] : ROLES.map(option)}
            onChange={(event) => props.onRole(event.target.value as GivenRole)}
          />
        )}
      </Cell>
      <Cell>
        <StateBadge
          tone={isActive ? 'good' : 'busy'}
          label={t(isActive ? 'settings.team.active' : 'settings.team.invited')}
        />
      </Cell>
      <Cell>
        {!isSelf && (
          <ConfirmButton
            isInRow
            label={t('settings.team.remove')}
            thing={person.name}
            text={t('settings.team.removeText', { name: person.name })}
            busy={false}
            onConfirm={props.onRemove}
          />
        )}
      </Cell>
    </Row>
  );
  function option(role: GivenRole) {
    return { value: role, label: t(`settings.roles.${role}`) };
  }
}

function Invite({ invite }: Pick<ReturnType<typeof useTeam>, 'invite'>) {
  const { t } = useTranslation();
  const [name, setName] = useState('');
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<GivenRole>('agent');
  return (
    <FormCard
      title={t('settings.team.invite')}
      text={t('settings.team.inviteText')}
      label={t('settings.team.inviteSubmit')}
      mutation={invite}
      done={invite.data && t('settings.team.inviteSent', { email: invite.data.email })}
      onSubmit={() =>
        invite.mutate(
          { name, email, role },
          {
            onSuccess: () => {
              setName('');
              setEmail('');
            },
          },
        )
      }
    >
      <TextInput
        label={t('common.fields.name')}
        required
        maw={420}
        value={name}
        onChange={(event) => setName(event.target.value)}
      />
      <TextInput
        label={t('session.email')}
        type="email"
        required
        maw={420}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
      <NativeSelect
        label={t('settings.team.role')}
        description={t(`settings.roleTexts.${role}`)}
        maw={420}
        value={role}
        data={ROLES.map((value) => ({ value, label: t(`settings.roles.${value}`) }))}
        onChange={(event) => setRole(event.target.value as GivenRole)}
      />
    </FormCard>
  );
}
