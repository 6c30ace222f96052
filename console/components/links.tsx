import { Button, type ButtonProps } from '@mantine/core';
import { createLink, type LinkComponent } from '@tanstack/react-router';
import type { ComponentProps, Ref } from 'react';

type ButtonLinkProps = Omit<ButtonProps, 'href'> & { ref?: Ref<HTMLAnchorElement> };

/** Plain, because lists draw thousands of links: Mantine's would read the theme and twenty properties for each. */
function PlainLink({ className = '', ...props }: Omit<ComponentProps<'a'>, 'href'>) {
  return <a {...props} className={`mantine-focus-auto text-link ${className}`} />;
}

function ButtonAsLink(props: ButtonLinkProps) {
  return <Button component="a" {...props} />;
}

/** A link in a text or a table. */
export const TextLink: LinkComponent<typeof PlainLink> = createLink(PlainLink);

/** A link that looks like the button it stands beside. */
export const ButtonLink: LinkComponent<typeof ButtonAsLink> = createLink(ButtonAsLink);
