/** The library's types about businesses; see `library-types.ts`. */
export interface LibraryBusinessProfile {
  address?: string;
  description?: string;
  email?: string;
  category?: string;
  business_hours?: {
    timezone?: string;
    business_config?: { day_of_week: string; mode: string; open_time?: number; close_time?: number }[];
  };
}

export interface LibraryProduct {
  id: string;
  name?: string;
  description?: string;
  retailerId?: string;
  url?: string;
  price?: number;
  currency?: string;
  isHidden?: boolean;
  reviewStatus?: Record<string, string>;
  imageUrls?: Record<string, string>;
}

export interface LibraryCollection {
  id: string;
  name: string;
  products: LibraryProduct[];
  status?: { status?: string };
}
