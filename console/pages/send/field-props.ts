import type { FieldSchema } from '../../api/use-send-kinds.ts';

export interface FieldProps {
  name: string;
  schema: FieldSchema;
  required: boolean;
  value: unknown;
  /** What the service said of it. */
  error?: string | null;
  onChange: (value: unknown) => void;
}
