import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { Ref } from 'react';

type AnchorLinkProps = Omit<AnchorProps, 'href'> & { ref?: Ref<HTMLAnchorElement> };
type ButtonLinkProps = Omit<ButtonProps, 'href'> & { ref?: Ref<HTMLAnchorElement> };

function AnchorLink(props: AnchorLinkProps) {
  return <Anchor underline="always" size="sm" {...props} />;
}

function ButtonAsLink(props: ButtonLinkProps) {
  return <Button component="a" {...props} />;
}

/** A link in a text or a table. */
export const TextLink: LinkComponent<typeof AnchorLink> = createLink(AnchorLink);

/** A link that looks like the button it stands beside. */
export const ButtonLink: LinkComponent<typeof ButtonAsLink> = createLink(ButtonAsLink);
