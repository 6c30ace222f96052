import { createTheme, Paper } from '@mantine/core';

/** Borders instead of shadows, one accent colour, the fonts of the system. */
export const theme = createTheme({
  primaryColor: 'indigo',
  // Dark enough on white, and light enough on black, for small text.
  primaryShade: { light: 8, dark: 8 },
  defaultRadius: 6,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, sans-serif',
  fontFamilyMonospace: 'ui-monospace, "SF Mono", Menlo, Consolas, monospace',
  components: {
    Paper: Paper.extend({ defaultProps: { withBorder: true } }),
    // A menu must not have a child like its placeholder. `extend` would bring the code of menus into the first page.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
  },
});
